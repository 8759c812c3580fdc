"""What measurements share: their options, the spread of ratios, and figures in a file."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from pipeline.cli.output import write_output


def options(doc: str | None, quick: str) -> ArgumentParser:
    """A parser of ``--quick`` and ``--json``; a measurement adds its own options."""
    parser = ArgumentParser(description=doc)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    return parser


def keep(asked: Namespace, figures: object) -> None:
    """Write figures into the file that was asked for, if one was."""
    if asked.json:
        write_output(asked.json, json.dumps(figures, indent=1) + "\n")


def spread(ratios: Iterable[float]) -> dict[str, float]:
    """The median of ratios, the least and the largest."""
    each = sorted(ratios)
    return {"ratio": median(each), "ratio_low": each[0], "ratio_high": each[-1]}
