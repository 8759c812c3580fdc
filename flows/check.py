"""The scheduled check: health and drift of a checkout, as a table on Prefect's pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from pydantic import Field

from pipeline.formats.plural import counted
from pipeline.ops.check import health
from pipeline.ops.check.doctor import Finding
from pipeline.ops.driver.checkout import find_root

Part = Literal["results", "upstream", "servers", "disk"]
Upstream = Literal["on this machine", "at its addresses"]
PARTS: tuple[Part, ...] = ("results", "upstream", "servers", "disk")
_MARKS = {True: "ok", False: "wrong", None: "-"}


class Drifted(Exception):
    """Findings of the check; the message names all of them."""


@flow(name="check", flow_run_name="check", log_prints=True)
def check(
    parts: list[Part] = list(PARTS),  # noqa: B006, Prefect's pages show the default as it is
    upstream: Upstream = "on this machine",
    free_gibibytes: Annotated[float, Field(ge=0)] = 5.0,
    checkout: str | None = None,
) -> list[str]:
    """Check a checkout and return what was looked at.

    Args:
        parts: What to look at: results against `dvc.lock`, upstream files against their digests,
            whether servers answer, how much room there is.
        upstream: Which upstream files: those on this machine, or also those at their addresses, all
            of which are downloaded.
        free_gibibytes: Room wanted on each disk, GiB.
        checkout: Folder of the checkout; the working directory if absent.

    Raises:
        Drifted: If something is not as it should be; names it.
    """
    log = get_run_logger()
    root = find_root(Path(checkout) if checkout else None)
    findings = [each for part in parts for each in look(part, root, upstream, free_gibibytes)]
    for each in findings:
        log.info("%s: %s", each.subject, each.found)
    create_table_artifact(
        [_row(each) for each in findings],
        key="check",
        description=f"Health and drift of {root}",
    )
    wrong = [each for each in findings if each.ok is False]
    if wrong:
        named = "\n".join(f"- {each.subject}: {each.found}. {each.repair}" for each in wrong)
        raise Drifted(f"{len(wrong)} of {counted(len(findings), 'finding')} are wrong:\n{named}")
    return [each.subject for each in findings]


@task(name="look", task_run_name="{part}", cache_policy=NO_CACHE)
def look(part: Part, root: Path, upstream: Upstream, free_gibibytes: float) -> list[Finding]:
    match part:
        case "results":
            return list(health.results(root))
        case "upstream":
            offered = health.offered_files() if upstream == "at its addresses" else ()
            return [*health.kept_files(root), *offered]
        case "servers":
            return list(health.servers(root))
        case "disk":
            return list(health.disk(root, free_gibibytes))


def _row(finding: Finding) -> dict[str, str]:
    return {
        "": _MARKS[finding.ok],
        "what": finding.subject,
        "found": finding.found,
        "repair": finding.repair if finding.ok is False else "",
    }
