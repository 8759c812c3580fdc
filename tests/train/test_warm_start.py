"""A warm start that was interrupted or killed ends in the same bytes as one that was not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from pipeline.config.models import SIZES, WarmStart
from pipeline.config.sources import ArithmeticSource, HiTomSource
from pipeline.data.origin import Origin
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.tasks.grading import extract_tagged
from pipeline.tom.recount import implied, read_lines
from pipeline.tom.retelling import retell
from pipeline.train import warm_start
from pipeline.train.stopping import Interrupted
from pipeline.train.warm_start import Demonstration, WarmStartRun

RECIPE = WarmStart(steps=7, batch=2, learning_rate=0.002, stories=8, arithmetic_share=0)


@pytest.fixture(scope="module")
def examples() -> list[Demonstration]:
    source = HiTomSource(kind="hi_tom_style", telling="brief", small_names=True, agents=2, train=1)
    return list(warm_start.demonstrations(RECIPE, [source], None))


class Trial:
    """A warm start from the beginning, which is asked to stop after some steps."""

    def __init__(self, examples: Sequence[Demonstration], recipe: WarmStart, work: Path) -> None:
        self.examples, self.recipe, self.work = examples, recipe, work
        self.steps: list[int] = []

    def run(self, until: int | None = None) -> tuple[list[float], dict[str, torch.Tensor]]:
        tokenizer = make_tokenizer(list(warm_start.texts(self.examples, 10)), 300)
        model = make_model(SIZES["nano"], tokenizer, context=512, seed=1)
        self.steps = []
        run = WarmStartRun(
            model,
            tokenizer,
            self.recipe,
            self.work,
            report=lambda step, loss: self.steps.append(step),
            should_stop=lambda: self.steps[-1] == until,
        )
        losses = run.train(self.examples)
        return losses, model.state_dict()


def equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def test_interrupted_it_ends_in_the_same_bytes(
    examples: list[Demonstration], tmp_path: Path
) -> None:
    losses, weights = Trial(examples, RECIPE, tmp_path / "whole").run()
    trial = Trial(examples, RECIPE, tmp_path / "stopped")
    for stop in (3, 5):
        with pytest.raises(Interrupted, match=f"stopped after step {stop} of 7"):
            trial.run(until=stop)
    assert trial.steps == [4, 5], "it went on from the third step"
    resumed_losses, resumed_weights = trial.run()
    assert trial.steps == [6, 7]
    assert resumed_losses == losses and equal(resumed_weights, weights)


def test_a_damaged_checkpoint_is_not_gone_on_from(
    examples: list[Demonstration], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trial = Trial(examples, RECIPE, tmp_path)
    for stop in (2, 4):
        with pytest.raises(Interrupted):
            trial.run(until=stop)
    (tmp_path / "step-000004" / "tensors.safetensors").write_bytes(b"cut")
    trial.run()
    assert trial.steps[0] == 3
    assert "step-000004 is damaged" in caplog.text


def test_a_target_that_was_reached_is_not_trained_beyond(
    examples: list[Demonstration], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the step that reaches the target and the check that finds it out."""
    monkeypatch.setattr(warm_start, "_CHECK_EVERY", 2)
    monkeypatch.setattr(warm_start, "_HELD_OUT", 2)
    recipe = RECIPE.model_copy(update={"target_accuracy": 0.0})
    assert len(Trial(examples, recipe, tmp_path / "whole").run()[0]) == 2
    trial = Trial(examples, recipe, tmp_path / "stopped")
    with pytest.raises(Interrupted):
        trial.run(until=2)
    assert len(trial.run()[0]) == 2 and trial.steps == []


def test_what_was_shown_ends_where_the_steps_do(examples: list[Demonstration]) -> None:
    """Two a step; those held out for a target accuracy are never shown."""
    assert warm_start.shown(examples, RECIPE, 3) == examples[:6]
    assert warm_start.shown(examples, RECIPE, 7) == examples
    held = RECIPE.model_copy(update={"target_accuracy": 0.5, "stories": 400})
    many = examples * 50
    assert len(warm_start.shown(many, held, 1000)) == len(many) - 200


def test_a_demonstration_says_where_it_is_from() -> None:
    source = HiTomSource(kind="hi_tom_style", telling="brief", small_names=True, agents=3, train=1)
    sums = ArithmeticSource(kind="arithmetic", test=1)
    recipe = RECIPE.model_copy(update={"stories": 40, "arithmetic_share": 0.5})
    shown = list(warm_start.demonstrations(recipe, [source], sums))
    origin = Origin.of([each.example for each in shown], [source])
    counts = {(each.source, each.telling, each.order): each.rows for each in origin.portions}
    assert set(counts) == {
        ("arithmetic", "benchmark", None),
        *(("hi_tom_style", "brief", order) for order in (0, 1, 2, 3)),
    }
    assert sum(counts.values()) == origin.rows == 40
    assert counts["arithmetic", "benchmark", None] == origin.unread > 0
    for each in shown:
        assert each.example.answer in each.response
        assert each.example.question in each.messages[0]["content"]


def test_half_of_the_tracks_are_edited_and_what_follows_from_them_is_taught() -> None:
    recipe = RECIPE.model_copy(update={"stories": 60, "taught": "edited", "orders": [1, 2]})
    source = HiTomSource(
        kind="hi_tom_style", telling="brief", tell=True, structure="free", trace="track", train=1
    )
    shown = list(warm_start.demonstrations(recipe, [source], None))
    edited = [each for each in shown if each.given]
    assert 15 <= len(edited) <= 45
    for each in shown:
        story = retell("hi_tom_style", each.example.story, each.example.question)
        assert story is not None
        said = [written.line for written in read_lines(each.given + each.response)]
        answer = extract_tagged(each.response)
        assert answer == implied(said, story.chain)
        assert (answer != each.example.answer) == bool(each.given)
