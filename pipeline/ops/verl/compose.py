"""verl's own verdict on a set of overrides: composed by Hydra, checked by verl."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.ops.verl.overrides import Overrides, as_arguments

_MODULE = "verl.trainer.config"
_RL = "ppo_trainer"


@dataclass(frozen=True)
class Composed:
    """A resolved configuration of verl.

    Attributes:
        config: All settings, nested.
        defaults: verl's own, by dotted name.
    """

    config: dict[str, object]
    defaults: dict[str, object]

    def value(self, key: str) -> object:
        """The setting of a dotted name."""
        found: object = self.config
        for part in key.split("."):
            assert isinstance(found, Mapping)
            found = found[part]
        return found

    def changed(self, overrides: Overrides) -> Overrides:
        """The overrides that differ from verl's defaults."""
        return {
            key: value
            for key, value in overrides.items()
            if key.startswith("+") or key not in self.defaults or self.defaults[key] != value
        }


def ask(overrides: Overrides, name: str, python: Path | None) -> Composed | None:
    """Compose and validate with the verl of this environment, or of another one.

    Args:
        overrides: Settings by dotted name.
        name: Name of verl's configuration.
        python: The interpreter of the other environment; None if there is none.

    Returns:
        None if neither environment has verl.

    Raises:
        UserError: As :func:`compose`.
    """
    here = find_spec("verl")
    if here is not None and here.origin:  # a folder of that name has none
        return compose(overrides, name)
    if python is None:
        return None
    asked = subprocess.run(
        [python, "-m", __name__, name],
        cwd=Path(__file__).parents[3],
        input=json.dumps(overrides),
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        last = (asked.stderr.splitlines() or [f"it ended with {asked.returncode}"])[-1]
        raise UserError(f"verl cannot be asked for its configuration: {python}: {last}")
    said = json.loads(asked.stdout)
    if refusal := said.get("refusal"):
        raise UserError(refusal)
    return Composed(**said)


def main() -> None:
    """Compose the overrides on the standard input, and print what came of it, as JSON."""
    try:
        with redirect_stdout(sys.stderr):
            found = asdict(compose(json.load(sys.stdin), sys.argv[1]))
    except UserError as error:
        found = {"refusal": str(error)}
    json.dump(found, sys.stdout)


def compose(overrides: Overrides, name: str = _RL) -> Composed:
    """Compose and validate with the verl of this environment, which this process imports.

    Args:
        overrides: Settings by dotted name.
        name: Name of verl's configuration.

    Raises:
        UserError: If verl has no such key, a value is of the wrong kind, or verl refuses the
            configuration.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from verl.utils.config import validate_config  # noqa: F401

    with initialize_config_module(_MODULE, version_base=None):
        bare = hydra_compose(name)
        defaults = dict(_leaves(OmegaConf.to_container(bare, resolve=False)))
        for key in overrides.keys() & defaults.keys():
            _check(key, overrides[key], defaults[key])
        try:
            config = hydra_compose(name, overrides=as_arguments(overrides))
        except HydraException as error:
            raise UserError(
                f"train.cluster.overrides: verl refuses them: {' '.join(str(error).split())}"
                f"{_close(overrides, defaults)}"
            ) from None
    with redirect_stdout(StringIO()), warnings.catch_warnings(action="ignore"):
        (_validate if name == _RL else _validate_sections)(config)
    resolved = OmegaConf.to_container(config, resolve=True)
    # As far as they can be resolved: the rollout has no default name.
    shown = OmegaConf.to_container(bare, resolve=True, throw_on_missing=False)
    return Composed(resolved, dict(_leaves(shown)))  # type: ignore[arg-type]


def _close(overrides: Overrides, defaults: Mapping[str, object]) -> str:
    """Which keys verl has that are like those that it has not."""
    unknown = [key for key in overrides if key not in defaults and not key.startswith("+")]
    close = [name for key in unknown for name in difflib.get_close_matches(key, defaults)]
    return f"; it has {', '.join(close)}" if close else ""


def _leaves(node: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield every setting with its dotted name; also the empty mappings, which can be added to."""
    if not isinstance(node, Mapping) or not node:
        yield prefix, node
        return
    for key, value in node.items():
        yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key))


def _check(key: str, value: object, default: object) -> None:
    """Check that the value of a setting is of the kind of verl's own.

    Raises:
        UserError: If it is of another kind.
    """
    kind = _kind(default)
    if kind and value is not None and _kind(value) != kind:
        raise UserError(
            f"train.cluster.overrides: verl's {key}: found {value!r}; allowed: {kind}, such as "
            f"{default!r}"
        )


def _kind(value: object) -> str | None:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case _:  # a text may stand for anything: an interpolation, a list
            return None if not isinstance(value, str) or "${" in value else "a text"


def _validate(config: object) -> None:
    """Run verl's own checks.

    Raises:
        UserError: If one fails.
    """
    from omegaconf import OmegaConf, open_dict
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    checked = OmegaConf.create(OmegaConf.to_container(config, resolve=False))
    with open_dict(checked):
        # Building it would read the model's files, which are where the job runs.
        checked.critic.model.pop("_target_")
    try:
        validate_config(
            config=checked,
            use_reference_policy=need_reference_policy(checked),
            use_critic=need_critic(checked),
        )
    except Exception as error:  # verl raises assertions, value errors and Hydra's own
        raise _refused(error) from error


def _validate_sections(config: Any) -> None:
    """Let verl build what it builds of a configuration that it has no check for.

    Raises:
        UserError: If it refuses to.
    """
    from verl.utils.config import omega_conf_to_dataclass

    try:
        for section in ("engine", "optim", "checkpoint"):
            omega_conf_to_dataclass(config[section])
    except Exception as error:
        raise _refused(error) from error


def _refused(error: Exception) -> UserError:
    cause = str(error.__cause__ or error).splitlines() or [type(error).__name__]
    return UserError(f"verl refuses the configuration: {cause[0]}")


if __name__ == "__main__":
    main()
