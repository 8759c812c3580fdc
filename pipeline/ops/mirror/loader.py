"""Models of MLflow's registry, loaded: ``mlflow.pyfunc.load_model("models:/mini@best-pairs")``.

MLflow keeps of a model where its weights are in a checkout, by their digest; the weights are DVC's.
So a model loads wherever the current folder is a checkout that has them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.base.errors import UserError
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.formats.files import read_json
from pipeline.formats.weights import WeightsFolder
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from pandas import DataFrame

DATA = "model.json"
_BATCH = 32


@dataclass(frozen=True)
class WeightsPlace:
    """Where the weights of a model are.

    Attributes:
        weights: The folder of the models that a stage left, from the root of the checkout.
        made_by: The stage.
        digest: Of the model.
    """

    weights: str
    made_by: str
    digest: str


def write_model(folder: Path, place: WeightsPlace, model_id: str, run_id: str) -> None:
    """Write what MLflow keeps of a model: ``MLmodel``, and where its weights are."""
    from mlflow.models import Model

    (folder / DATA).write_text(json.dumps(asdict(place)), encoding="utf-8")
    model = Model(run_id=run_id, model_id=model_id)
    model.add_flavor("python_function", loader_module=__name__, data=DATA)
    model.save(folder / "MLmodel")


class ChatModel:
    """A model that answers prompts.

    Args:
        folder: The model, in Hugging Face layout.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def predict(
        self, model_input: DataFrame | Sequence[str], params: Mapping[str, Any] | None = None
    ) -> list[str]:
        """One answer for each prompt.

        Args:
            model_input: Prompts, or a table with a column ``prompt``.
            params: ``max_new_tokens`` (256), ``temperature`` (0), ``begun``: what the answer begins
                with, as this project's prompts have it (``<think>``).

        Raises:
            UserError: If a table has no column ``prompt``.
        """
        chosen = {"max_new_tokens": 256, "temperature": 0.0, "begun": "<think>", **(params or {})}
        begun = str(chosen.pop("begun"))
        prompts = [
            Prompt([{"role": "user", "content": text}], (number,), begun, question=str(number))
            for number, text in enumerate(_texts(model_input))
        ]
        with tempfile.TemporaryDirectory() as work:
            engine = TransformersEngine(self._folder, Path(work) / "answers", _BATCH)
            answers = engine.complete(prompts, Sampling(**chosen), lambda _: None)
        return [f"{begun}{answer.text}" for answer in answers]


def _texts(given: DataFrame | Sequence[str]) -> list[str]:
    columns = getattr(given, "columns", None)
    if columns is None:
        return [str(text) for text in given]
    if "prompt" not in columns:
        raise UserError(
            f"the table has the columns {', '.join(map(str, columns))}; a model needs: prompt"
        )
    return [str(text) for text in given["prompt"]]  # type: ignore[call-overload]


def _load_pyfunc(path: str) -> ChatModel:
    """A model for MLflow.

    Raises:
        UserError: If the current folder is no checkout, or lacks the weights.
    """
    place = WeightsPlace(**read_json(Path(path)))
    return ChatModel(WeightsFolder(find_root() / place.weights, place.made_by).get(place.digest))
