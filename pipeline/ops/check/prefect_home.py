"""Prefect's folder and settings: read as soon as Prefect is imported."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from tomllib import TOMLDecodeError

from pydantic import ValidationError
from pydantic_settings import SettingsError
from yaml import YAMLError

from pipeline.base.errors import UserError, first_line
from pipeline.base.folders import folder_of

VARIABLE = "PREFECT_HOME"
_PROFILES = "profiles.toml"


def check_prefect() -> Path:
    """Prefect's folder; refuses what Prefect would end in an error at, before flows are imported.

    Raises:
        UserError: If it cannot use its folder, or refuses one of its settings.
    """
    home, said = usable_home(), StringIO()
    with redirect_stderr(said):  # importing it says what is wrong in its own way, and goes on
        from prefect.logging.configuration import load_logging_config
    logs = _file_of_logging(home)
    print(said.getvalue(), end="", file=sys.stderr)
    try:
        load_logging_config(logs) if logs.exists() else None
    except (YAMLError, OSError, ValueError, AttributeError) as error:
        raise UserError(
            f"PREFECT_LOGGING_CONFIG_PATH: Prefect cannot read {logs} ({first_line(error)}); name "
            "a YAML file of logging's settings, or unset it"
        ) from None
    return home


def _file_of_logging(home: Path) -> Path:
    """The file of Prefect's that its settings name, once they are read."""
    from prefect.settings import get_current_settings

    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / _PROFILES)
    try:
        return Path(get_current_settings().logging.config_path)
    except ValidationError as error:
        found = "; ".join(
            f"{_variable(error.title, each['loc'])}: found {each['input']!r}, {each['msg']}"
            for each in error.errors()
            if each["type"] != "default_factory_not_called"
        )
        raise UserError(
            f"Prefect refuses its settings ({found}); fix or unset the variable, or fix the "
            f"profile in {profiles}"
        ) from None
    except (TOMLDecodeError, SettingsError, OSError) as error:
        raise UserError(
            f"Prefect cannot read its settings ({first_line(error)}); fix {profiles}, or the "
            "variable that is named"
        ) from None


def _variable(title: str, place: Sequence[int | str]) -> str:
    """The environment variable of a field of Prefect's settings."""
    from prefect.settings.base import PrefectBaseSettings

    known = {kind.__name__: kind for kind in PrefectBaseSettings.__subclasses__()}
    prefix = known[title].model_config.get("env_prefix", "") if title in known else "PREFECT_"
    return f"{prefix}{'_'.join(map(str, place))}".upper()


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
        by = VARIABLE if named else "HOME"
        raise UserError(
            f"{home}: Prefect cannot keep its database there ({why}), as {by} is "
            f"{os.environ.get(by) or 'not set'}; set {VARIABLE} to a folder that may be "
            "written, or use `dvc repro`, which needs none"
        ) from None
    return home
