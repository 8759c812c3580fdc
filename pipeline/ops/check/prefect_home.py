"""Prefect's folder, in HOME unless it is named: read as soon as Prefect is imported."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from pipeline.base.errors import UserError
from pipeline.base.folders import folder_of

VARIABLE = "PREFECT_HOME"
_PROFILES = "profiles.toml"


def check_prefect() -> None:
    """Refuse what Prefect would end in an error at, before anything of it is imported.

    Raises:
        UserError: If it cannot use its folder, or refuses one of its settings.
    """
    usable_home()
    try:
        import prefect.settings  # noqa: F401
    except ValidationError as error:
        wrong = "; ".join(
            f"PREFECT_{'_'.join(map(str, each['loc'])).upper()}: {each['msg']}"
            for each in error.errors()
            if each["type"] != "default_factory_not_called"
        )
        raise UserError(
            f"Prefect refuses its settings ({wrong}); fix or unset the variable, or what "
            "`prefect config view` shows"
        ) from None


def usable_home() -> Path:
    """The folder, which may be made.

    Raises:
        UserError: If Prefect could not read its settings or keep its database there.
    """
    named = os.environ.get(VARIABLE)
    home = Path(named) if named else Path("~", ".prefect")
    try:
        home = home.expanduser()
        with folder_of(home / _PROFILES):
            tempfile.TemporaryFile(dir=home).close()
            if (home / _PROFILES).exists():
                (home / _PROFILES).read_bytes()
    except (OSError, RuntimeError) as error:  # of a user whose home nobody knows, the latter
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(
            f"{home}: Prefect cannot keep its database there ({why}), as HOME is "
            f"{os.environ.get('HOME') or 'not set'}; set {VARIABLE} to a folder that may be "
            "written, or use `dvc repro`, which needs none"
        ) from None
    return home
