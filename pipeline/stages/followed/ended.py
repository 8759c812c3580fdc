"""How a stage of a cell ended, in a file: whoever talks to MLflow next tells it."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pipeline.config.params import Params
from pipeline.formats.files import write_json

log = logging.getLogger(__name__)
NAME = "ended.json"


@dataclass(frozen=True)
class Ended:
    """The end of a stage.

    Attributes:
        status: ``FINISHED``, ``FAILED`` or ``KILLED``, as MLflow names it.
        began: When it began, in seconds since the epoch.
        seconds: How long it worked.
        circumstances: Who ran it where, as tags.
        cause: Why it failed, in a line; None where it did not.
    """

    status: str
    began: float
    seconds: float
    circumstances: dict[str, str]
    cause: str | None = None

    def leave(self, logs: Path) -> None:
        """Write it to the folder of a stage's times; that there is no room for it stops nothing."""
        try:
            write_json(logs / NAME, asdict(self))
        except OSError as error:
            log.warning("%s: not written (%s)", logs / NAME, error)


def read_ended(logs: Path) -> Ended | None:
    """How a stage ended; None where nothing is known. A damaged log stops nothing."""
    path = logs / NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        ended = Ended(**{field.name: found[field.name] for field in fields(Ended)})
        tags = {str(name): str(value) for name, value in ended.circumstances.items()}
        cause = None if ended.cause is None else str(ended.cause)
        return Ended(str(ended.status), float(ended.began), float(ended.seconds), tags, cause)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        log.warning("%s is damaged; MLflow is not told how long the stage took", path)
        return None


def causes(params: Params, root: Path) -> dict[str, str]:
    """Why cells of a study failed when they last ran, by cell: ``STAGE: CAUSE``."""
    logs = root / "logs" / params.study.name
    return {
        key: f"{path.parent.name}: {ended.cause}"
        for key in params.cells
        for path in sorted((logs / key).glob(f"*/{NAME}"))
        if (ended := read_ended(path.parent)) and ended.cause
    }
