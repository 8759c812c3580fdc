"""Prefect's folder and settings: read as soon as Prefect is imported."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError
from yaml import YAMLError

from pipeline.base.errors import UserError, first_line
from pipeline.base.folders import folder_of
from pipeline.base.variables import refused

VARIABLE = "PREFECT_HOME"
_PROFILES = "profiles.toml"


def check_prefect() -> Path:
    """Prefect's folder; refuses what Prefect would end in an error at, before flows are imported.

    Raises:
        UserError: If it cannot use its folder, or refuses one of its settings.
    """
    home = usable_home()
    from prefect.logging.configuration import load_logging_config
    from prefect.settings import get_current_settings
    from pydantic_settings import SettingsError

    logs = None
    try:
        logs = Path(get_current_settings().logging.config_path)
        load_logging_config(logs) if logs.exists() else None
    except ValidationError as error:
        faults = (each for each in error.errors() if each["type"] != "default_factory_not_called")
        said = "; ".join(f"{each['msg']}, found {each['input']!r}" for each in faults)
    except (SettingsError, YAMLError, OSError, ValueError, AttributeError) as error:
        said = first_line(error) + (f" in '{logs}'" if logs else "")
    else:
        return home
    profiles = os.environ.get("PREFECT_PROFILES_PATH") or home / _PROFILES
    raise refused("Prefect", "PREFECT_", said) or UserError(
        f"Prefect refuses its settings ({said}); fix {profiles}"
    )


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
