"""What do tiny models learn by RL? Five seeds of base model, data and rollouts, and controls.

Runs the study ``mini-seeds`` in a fresh clone, as a user would (``tomrl repro mini-seeds``), and
asks of the report that RL with a reward gains validation accuracy at its last step on the training
set that no rule answers (``balanced``), with a 95 % interval above zero, and that RL with a random
reward gains on neither. The last step, because the best one is chosen by the set it is measured on.
What happens on ``cued`` is reported: the base model is right on most of its questions to begin
with. Exits 1 where what is asked does not hold. Run
``python -m benchmarks.learning [--quick] [--write DOCS]``; about an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from pipeline.analysis.seeds import LAST

ROOT = Path(__file__).resolve().parent.parent
STUDY = "mini-seeds"
WANTED = "-balanced-grpo"
COLUMNS = ("rule_right", "rule_wrong", "pairs")
RANDOM = "-random"  # how the names of cells end that a random reward trains
QUICK = {"seeds": [0, 1], "steps": 20}

PAGE = """# Learning

What does a tiny model learn by reinforcement: beliefs, or the rule that its training data reward?
`{study}` repeats the study `mini` over {seeds} seeds of base model, training data and rollouts:
{steps} steps of {prompts} prompts x {rollouts} completions each, on questions of orders 1 and 2
about generated stories. On the set `cued` the place at the earliest exit is always the answer, on
`balanced` half of the time; both have as many questions of each order. Everything on this page is
written by

    python -m benchmarks.learning --write docs

which runs the study in a fresh clone and exits 1 unless GRPO with a reward gains validation
accuracy on `balanced`, at the last step and with a 95 % interval above zero, and GRPO with a random
reward on neither set.

## What it shows

{summary}

## All of it

{table}
Accuracy in %; intervals are Student's t over seeds. The best step is chosen by the validation set
that it is measured on, which flatters it; the last step and the columns are not chosen. Validation
is on questions as the training set has them, so that a gain on `cued` may be the rule.

| cells | what is trained |
| --- | --- |
| `grpo` | GRPO with a reward for right answers |
| `random` | the same with a reward drawn by a coin |
| `answers` | supervised training on as many prompts, gold answers alone |
| `traces` | the same with true reasoning before the answers |
| base models | nothing |

| column | questions |
| --- | --- |
| `rule_right`, `rule_wrong` | orders 1 and 2, by whether the earliest exit answers them |
| `order_3_right`, `order_3_wrong` | the same of order 3, neither demonstrated nor trained |
| `pairs` | two stories that differ in one event, on which no listed rule is right twice |
| `arithmetic` | sums that the base models were shown |

![training curves: the mean over seeds in its 95 % interval](images/learning.svg)
"""


def clone(folder: Path) -> Path:
    """Return a clone of the last commit."""
    checkout = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
    return checkout


def shorten(checkout: Path) -> None:
    """Make the study a matter of minutes; what it then says is only that everything runs."""
    path = checkout / "studies" / f"{STUDY}.yaml"
    study = yaml.safe_load(path.read_text(encoding="utf-8"))
    study["grid"]["seeds"], study["train"]["steps"] = QUICK["seeds"], QUICK["steps"]
    path.write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")


def run_study(checkout: Path) -> Path:
    """Run the study as a user would; return the folder of its report."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TOMRL_", "MLFLOW_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**kept, "PATH": path}
    subprocess.run(["tomrl", "repro", STUDY], cwd=checkout, env=environment, check=True)
    return checkout / "reports" / STUDY


def shortfalls(results: dict[str, Any]) -> list[str]:
    """Return one sentence for each kind of cells that does not learn, or does without a reward."""
    wrong = []
    for row in results["over_seeds"]:
        group, change = row["group"], row["change"]
        if row["measure"] != LAST or not group.endswith((WANTED, RANDOM)):
            continue
        asked = group.endswith(WANTED)
        if (change["low"] > 0) != asked:
            wrong.append(
                f"{group}: gains {change['mean']:.1%} at its last step, interval "
                f"{change['low']:.1%} to {change['high']:.1%}; asked: "
                f"{'an interval above 0' if asked else 'no interval above 0'}"
            )
    return wrong


def summary(results: dict[str, Any]) -> str:
    """Return what training changed in the columns that tell belief from rule, cell by cell."""
    found: dict[str, dict[str, str]] = {}
    for row in results["over_seeds"]:
        if row["measure"] in COLUMNS:
            change = row["change"]
            low, high = (f"{100 * change[end]:+.1f}" for end in ("low", "high"))
            found.setdefault(row["group"], {})[row["measure"]] = (
                f"{100 * change['mean']:+.1f} ({low} to {high})"
            )
    lines = [("cells", *COLUMNS), ("---", *("---:",) * len(COLUMNS))]
    lines += [(group, *(columns[name] for name in COLUMNS)) for group, columns in found.items()]
    head = "Change of accuracy in points, mean over seeds and 95 % interval:\n\n"
    return head + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_page(report: Path, study: dict[str, Any], docs: Path) -> None:
    """Write ``learning.md`` and its figure."""
    train, seeds = study["train"], study["grid"]["seeds"]
    page = PAGE.format(
        study=STUDY,
        seeds=len(seeds),
        steps=train["steps"],
        prompts=train["prompts_per_step"],
        rollouts=train["rollouts"],
        summary=summary(json.loads((report / "results.json").read_text(encoding="utf-8"))),
        table=(report / "seeds.md").read_text(encoding="utf-8"),
    )
    (docs / "images").mkdir(parents=True, exist_ok=True)
    (docs / "learning.md").write_text(page, encoding="utf-8")
    shutil.copyfile(report / "figures" / "training-curves.svg", docs / "images" / "learning.svg")


def main() -> int:
    """Run, print the table, write the page if asked; return 1 if RL falls short."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds, 20 steps, nothing asked")
    parser.add_argument("--write", type=Path, metavar="DOCS", help="write learning.md into DOCS")
    parser.add_argument("--checkout", type=Path, help="use (and keep) this checkout, not a clone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkout = arguments.checkout or clone(Path(folder))
        if arguments.quick:
            shorten(checkout)
        report = run_study(checkout)
        study = yaml.safe_load((checkout / "studies" / f"{STUDY}.yaml").read_text("utf-8"))
        results = json.loads((report / "results.json").read_text(encoding="utf-8"))
        print((report / "seeds.md").read_text(encoding="utf-8"))
        if arguments.write:
            write_page(report, study, arguments.write)
    wrong = [] if arguments.quick else shortfalls(results)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
