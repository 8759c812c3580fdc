"""``tomrl study diff``: a study compared with its paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analysis.against_paper import (
    AgainstPaper,
    Compared,
    against_paper,
    checked,
    in_words,
    no_record,
)
from pipeline.cli.output import write_output
from pipeline.cli.terminal import Terminal
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.formats.files import json_text
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root


def diff(
    name: Annotated[str, typer.Argument(help="Name of a study, see `tomrl study list`.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every statement as JSON, those that agree too.")
    ] = False,
) -> None:
    """Print how a study differs from the paper that it re-runs, what that leaves open, and why.

    Exits 2 if something differs and `studies/records/NAME.yaml` gives no reason.

    Example: `tomrl study diff tom-rl`
    """
    root = find_root()
    params = expand(find_study(root, name))
    found = against_paper(params, root)
    if found is None:
        sentence = no_record(params, root)
        machine, people = json_text({"study": name, "paper": None, "says": sentence}), sentence
    else:
        machine, people = checked(found).text(), "\n".join(lines(found))
    if as_json:
        write_output(Path("-"), machine)
    else:
        Terminal().say(people)


def lines(found: AgainstPaper) -> Iterator[str]:
    """Yield differences, open settings, and the names of equal ones."""
    differs, left, same = (found.of(status) for status in ("differs", "open", "same"))
    yield f"{found.study} re-runs {found.paper}: {found.title}"
    yield f"code: {found.code or 'not public'}"
    yield f"{counted(len(found.compared), 'statement')} of paper and code compared"
    for heading, chosen in (
        (f"{len(differs)} otherwise than stated", differs),
        (f"{len(left)} left open by the paper", left),
    ):
        yield f"\n{heading}"
        for each in chosen:
            yield from _block(each)
    yield f"\n{len(same)} as stated"
    for topic in dict.fromkeys(each.topic for each in same):
        yield f"  {topic}: {', '.join(each.what for each in same if each.topic == topic)}"


def _block(each: Compared) -> Iterator[str]:
    yield f"\n  {each.topic}: {each.what}" + (f" ({each.where})" if each.where else "")
    yield f"    stated  {in_words(each.stated)} [{each.source}]"
    yield f"    here    {in_words(each.here)}"
    yield f"    reason  {each.reason or 'none is given'}"
