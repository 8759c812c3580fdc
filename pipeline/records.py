"""Records: what stages hand each other in JSON files, written and read through the same types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.errors import UserError
from pipeline.files import write_json

Figures = dict[str, int | float]
"""Numbers by name; a count stays an integer in the files."""


class Record(BaseModel):
    """Base of all records: unknown fields are mistakes, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def write(self, path: Path) -> None:
        """Write the record as JSON, atomically; the same bytes for the same values."""
        write_json(path, self.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path, made_by: str) -> Self:
        """Read a record.

        Args:
            path: The file.
            made_by: The DVC stage that writes it, for the error message.

        Raises:
            UserError: If it is missing, or holds something else; names the stage that makes it.
        """
        try:
            return cls.model_validate(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise UserError(f"{path} does not exist; make it with: dvc repro {made_by}") from None
        except (ValidationError, ValueError, RecursionError) as error:
            raise UserError(
                f"{path} is damaged: {_why(error)}. Make it again with: "
                f"dvc repro --single-item --force {made_by}"
            ) from None


def _why(error: Exception) -> str:
    """Return what is wrong with a file, in a few words."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "its content"
        return f"{field}: {first['msg'].lower()}"
    return f"it is not JSON ({str(error).splitlines()[0][:100]})"
