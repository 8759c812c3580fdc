"""Disturbs a sweep and its servers again and again, and holds it against an undisturbed one.

``python -m tests.chaos.sweep --faults 50`` prints the figures: 35 trained cells of 5 tiny models,
with a real MLflow and a real Prefect server on a real PostgreSQL. What happens is drawn: a kill of
all processes of the sweep, as by a machine that goes down; of its flow alone; of the process group
of a cell; of a stage; of a server, which its keeper starts again; of the database; or the end of
all connections to that. A sweep that has ended for it is started again, until it is done.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations, islice
from pathlib import Path
from random import Random

import psycopg2
import yaml

from flows.sweeps.record import SweepFolder
from pipeline.config.models import SIZES
from tests.chaos.driver import Tally, Victim
from tests.chaos.study import Outcome, leftovers, results, tracked, tracked_in
from tests.conftest import commit, copy_checkout, edited, shrink
from tests.engines.team import Served, serving, without_postgres

FAULTS = ("group", "flow", "cell", "stage", "mlflow", "prefect", "database", "connections")
_HANGS_AFTER = 7200.0  # seconds without an end of a sweep that nothing disturbs
_ORPHAN_AFTER = 60.0  # seconds after the end of its flow


def prepare(folder: Path, models: int, sets: int) -> Path:
    """Make a committed checkout whose study has so many models and sets of training data."""
    checkout = copy_checkout(folder)
    shrink(checkout, steps=2)
    orders = [chosen for count in (1, 2, 3) for chosen in combinations((0, 1, 2), count)]
    with edited(checkout / "studies" / "mini.yaml") as study:
        nano = study["base"]["models"]["nano"]
        sizes = list(islice(SIZES, models))
        study["base"]["models"] = {size: {**nano, "title": size, "size": size} for size in sizes}
        study["dataset"]["combinations"] = {
            f"hi-{''.join(map(str, chosen))}": {
                part: [{"task": f"hi_tom_style_{part}", "orders": list(chosen)}]
                for part in ("train", "validation")
            }
            for chosen in orders[:sets]
        }
        names = list(study["dataset"]["combinations"])
        study["suite"]["tasks"]["hi_tom_orders_0_2"]["trained"] = names
        study["grid"] |= {"models": sizes, "combinations": names}
    commit(checkout)
    return checkout


def outcome(checkout: Path, known: dict[str, int]) -> Outcome:
    """Results, and what DVC knows of each stage; ``known`` is what MLflow has."""
    lock = yaml.load((checkout / "dvc.lock").read_bytes(), yaml.CSafeLoader)
    return Outcome(results(checkout) | lock["stages"], known)


def done_twice(checkout: Path) -> list[str]:
    """The stages that were run to their end more than once, by what DVC said of them."""
    count: Counter[str] = Counter()
    for path in SweepFolder(checkout, "mini").log("any").parent.glob("*.log"):
        running = ""
        for line in path.read_text(errors="replace").splitlines():
            if started := re.search(r"Running stage '([^']+)'", line):
                running = started[1]
            elif "Updating lock file" in line and running:
                count[running] += 1
                running = ""
    return sorted(name for name, times in count.items() if times > 1)


def strike(what: str, victim: Victim, served: Served) -> bool:
    """Let something happen; return False if what it would hit is not there now."""
    if what in ("mlflow", "prefect"):
        return served.kill(what)
    if what == "connections":
        return served.drop_connections()
    return served.kill_database() if what == "database" else victim.kill(what)


def disturb(
    checkout: Path, served: Served, random: Random, faults: int, mean: float, tally: Tally
) -> bool:
    """Run a sweep to its end with at most so many faults on the way; return whether it got there.

    Args:
        checkout: Where it runs.
        served: The servers that it uses.
        random: Says what happens when.
        faults: At most.
        mean: Seconds between two of them, on average.
        tally: Receives what happened.
    """
    left = faults
    while True:
        served.await_answers()
        victim, calm = Victim(checkout, "sweep", served.client), not left
        victim.start()
        while left and not victim.ended(random.expovariate(1 / mean)):
            if strike(what := random.choice(FAULTS), victim, served):
                left, tally.kills[what] = left - 1, tally.kills[what] + 1
                print(f"{tally.kills.total()}: {what}", flush=True)
        if not victim.ended(_HANGS_AFTER):
            tally.faults["hung"].append(victim.said()[-2000:])
            victim.kill("group")
        tally.faults["orphans"] += victim.survivors(_ORPHAN_AFTER)
        status = victim.process.wait()
        print(f"the sweep ended with {status}", flush=True)
        if status == 0:
            return True
        if calm:
            tally.faults["failed"].append(victim.said()[-2000:])
            return False


def undisturbed(checkout: Path) -> Outcome:
    """Run a sweep to its end, on servers of its own, and return what it leaves."""
    victim = Victim(checkout, "sweep")
    victim.start()
    assert victim.process.wait(_HANGS_AFTER) == 0, victim.said()
    return outcome(checkout, tracked_in(checkout))


def run(folder: Path, served: Served, options: argparse.Namespace) -> Iterator[Tally]:
    """Disturb one sweep after the other until there were so many faults; yield the tally so far."""
    random, tally = Random(options.seed), Tally()
    made = prepare(folder / "made" / "a checkout", options.models, options.sets)
    shutil.copytree(made, folder / "undisturbed" / made.name, symlinks=True)
    whole = undisturbed(folder / "undisturbed" / made.name)
    stages = sum(isinstance(each, dict) for each in whole.found.values())
    print(f"undisturbed: {stages} stages", flush=True)
    while tally.kills.total() < options.faults:
        checkout = folder / f"sweep {tally.studies}" / made.name
        shutil.copytree(made, checkout, symlinks=True)
        tally.studies += 1
        more = options.faults - tally.kills.total()
        if disturb(checkout, served, random, more, options.mean, tally):
            with closing(psycopg2.connect(served.team.postgres.address("mlflow"))) as database:
                found = outcome(checkout, tracked(database.cursor()))
            for kind, names in whole.differences(found).items():
                tally.faults[kind] += names
            tally.faults["doubled"] += [f"{stage} ran twice" for stage in done_twice(checkout)]
            tally.faults["left over"] += leftovers(checkout)
        yield tally


def main() -> None:
    """Print the figures; exit 1 if anything was lost, doubled or different."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.sweep", description=__doc__)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--models", type=int, default=len(SIZES), choices=range(1, 6))
    parser.add_argument("--sets", type=int, default=7, choices=range(1, 8), help="of training data")
    parser.add_argument("--mean", type=float, default=15.0, help="seconds between two faults")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if why := without_postgres():
        sys.exit(f"error: {why}")
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, serving() as served:
        for tally in run(Path(folder), served, options):
            print(tally, flush=True)
    sys.exit(not tally.is_clean)


if __name__ == "__main__":
    main()
