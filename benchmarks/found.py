"""Do stories that a search finds against a model teach it, and how long does the search take?

``tomrl attack`` searches 1,000 questions that the shipped model ``nano-0`` gets wrong and no rule
solves, and 300 against each of ``hearing-0`` to ``hearing-2``, which fail in one way alone, on
claims. These are then trained on what was found, by GRPO as ``mini-seeds`` does, and asked as they
were and as they became about the questions and pairs of that study, whose structures are of the
test. Run ``python -m benchmarks.found [--write]``: about 20 minutes of two cores; exits 1 where the
search against ``nano`` takes more than ten minutes or finds fewer, or where pairs do not rise
beyond chance over the three.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks.cells import timed
from benchmarks.circumstances import store
from pipeline.analysis.seeds import SeedEstimate
from pipeline.formats.files import file_digest, read_json, write_text
from pipeline.judge.answers import followed
from pipeline.ops.driver.checkout import find_root

NAME = "found"
BUDGET, LONGEST, SHOWN = 200_000, 600.0, 10
NANO, HEARING = "nano", "hearing"
STUDIES = {NANO: ("spurious-mini", 1000), HEARING: ("mini-seeds", 300)}
"""Of each kind of model, the study that knows it, and the questions to find."""
MODELS = ((NANO, 0), (HEARING, 0), (HEARING, 1), (HEARING, 2))
COLUMNS = ("rule_right", "rule_wrong", "pairs")
FILE = "found.jsonl"


def tried(folder: Path, kind: str, seed: int) -> dict[str, Any]:
    """Search against a model, and train one that can learn from it on what was found."""
    root, checkout = find_root(), folder / f"{kind} {seed}"
    study, wanted = STUDIES[kind]
    subprocess.run(["git", "clone", "--quiet", str(root), str(checkout)], check=True)
    _write(checkout, study, "searched", seed, _searched)
    timed(checkout, "tomrl", "study", "use", "searched")
    base = f"nano-s{seed}-base"
    timed(checkout, "dvc", "repro", "suite", f"train@{base}")
    command = ("tomrl", "attack", base, "-n", str(wanted), "--budget", str(BUDGET))
    search = timed(checkout, *command, "--seed", str(seed), "-o", FILE, "--json")
    lines = (checkout / FILE).read_text(encoding="utf-8").splitlines()
    run = {
        "model": f"{kind}-{seed}",
        "wanted": wanted,
        "seconds": round(search.seconds, 1),
        **json.loads(search.said),
        "shown": [json.loads(line) for line in lines[:SHOWN]],
    }
    if kind == NANO:
        return run
    _write(checkout, study, NAME, seed, lambda s: _trained(s, file_digest(checkout / FILE)))
    timed(checkout, "tomrl", "run", NAME)
    return {**run, **changed(checkout / "runs" / NAME, checkout / "results" / NAME, base)}


def changed(runs: Path, results: Path, base: str) -> dict[str, Any]:
    """What a model was right on before and after, and what its answers follow."""
    verdicts = {each["cell"]: each for each in read_json(results / "verdicts.json")}
    return {
        when: {**_shares(runs / cell), "follows": followed(said["answers"], said["by"])}
        for when, cell in (("before", base), ("after", f"nano-{NAME}"))
        for said in [verdicts[cell]]
    }


def _shares(run: Path) -> dict[str, float]:
    """The share of right answers by column; of pairs, of those with both right."""
    tasks = read_json(run / "evaluate" / "metrics.json")["tasks"]
    found = {name: tasks[name]["accuracy"] for name in COLUMNS}
    return found | {"pairs": tasks["pairs"]["pairs"]["accuracy"]["accuracy"]}


def _write(
    checkout: Path, of: str, name: str, seed: int, change: Callable[[dict[str, Any]], None]
) -> None:
    study = yaml.safe_load((checkout / "studies" / f"{of}.yaml").read_text(encoding="utf-8"))
    study["name"], study["grid"]["seeds"] = name, [seed]
    study["grid"]["arms"] = {"grpo": study["grid"]["arms"]["grpo"]}
    change(study)
    text = yaml.safe_dump(study, sort_keys=False)
    write_text(checkout / "studies" / f"{name}.yaml", text)


def _searched(study: dict[str, Any]) -> None:
    """Of the suite, only what says how questions are put."""
    asked = {"task": "hi_tom_style", "orders": [1, 2], "limit": 20}
    study["suite"] = {"tasks": {"asked": asked}}


def _trained(study: dict[str, Any], digest: str) -> None:
    study["acquire"]["hi_tom_style"]["found"] = {"file": FILE, "sha256": digest}
    balanced = study["dataset"]["combinations"]["balanced"]
    trained = {**balanced, "train": [{"task": "hi_tom_style_found"}]}
    study["dataset"]["combinations"], study["grid"]["combinations"] = {NAME: trained}, [NAME]
    study["suite"]["tasks"].pop("renamed")


def rise(runs: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """What a column gains, over the models."""
    return SeedEstimate.of([run["after"][name] - run["before"][name] for run in runs]).model_dump()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"in docs/results/{NAME}.json")
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        runs = list(pool.map(lambda model: tried(Path(folder), *model), MODELS))
    gained = {name: rise([run for run in runs if "after" in run], name) for name in COLUMNS}
    found = {"gained": gained, "models": runs}
    print(json.dumps(found, indent=1))
    if chosen.write:
        store(find_root(), NAME, found)
    searched = [run for run in runs if "after" not in run]
    slow = any(run["seconds"] > LONGEST or run["kept"] < run["wanted"] for run in searched)
    return int(slow or gained["pairs"]["low"] <= 0)


if __name__ == "__main__":
    sys.exit(main())
