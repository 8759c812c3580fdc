"""Decoding as on an accelerator: recorded passes write what passes do, and wait for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from transformers import PreTrainedModel, Qwen2ForCausalLM

from pipeline.model import decode, recording
from pipeline.model.decode import Completion, Rows, generate
from pipeline.model.memory import StandingMemory
from pipeline.model.passes import ModulePasses
from pipeline.model.recording import Repeated
from pipeline.model.sampling import Sampling
from pipeline.model.shared_prefix import Prefix
from tests.model.grouped import grouped_heads
from tests.model.tape import Recorder
from tests.model.waits import Waits

PROMPTS = [[5, 6, 7, 8, 9], [10, 11], [12]]
KEYS = [(0, index) for index in range(12)]
SAMPLING = Sampling(48, temperature=2.0, top_p=0.98)


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return grouped_heads(vocabulary=128)


@pytest.fixture(params=[True, False], ids=["written out", "modules"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(decode, "passes_of", ModulePasses)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Records on the CPU from here on; looks every 8 tokens, makes room for 4 tokens at first."""
    recorder = Recorder()
    monkeypatch.setattr(decode, "can_record", lambda device: True)
    monkeypatch.setattr(decode, "_LOOK_SELDOM", 8)
    monkeypatch.setattr(recording, "record", recorder)
    monkeypatch.setattr(StandingMemory, "fewest", 4)
    return recorder


def written(model: PreTrainedModel, end: int = -1) -> list[Completion]:
    return generate(model, PROMPTS, KEYS, SAMPLING, end)


def frequent(completions: list[Completion]) -> int:
    """Return the token that comes most often."""
    ((token, _),) = Counter(t for each in completions for t in each.tokens).most_common(1)
    return token


@pytest.mark.usefixtures("way")
def test_replayed_passes_write_what_passes_do(
    model: PreTrainedModel, request: pytest.FixtureRequest
) -> None:
    plain = written(model)
    end = frequent(plain)
    ended = written(model, end)
    recorder: Recorder = request.getfixturevalue("recorder")
    assert written(model) == plain
    # Of 47 passes all but the first with room for 4, 8, 16, 32 and 48 tokens.
    assert recorder.replays == [3, 3, 7, 15, 14]
    assert written(model, end) == ended
    assert len({len(each.tokens) for each in ended}) > 3, "rows were dropped"


@pytest.mark.usefixtures("way", "recorder")
def test_an_accelerator_is_waited_for_seldom(model: PreTrainedModel) -> None:
    """What needs a number from the device waits for all that it has been told to compute."""
    with Waits() as waits:
        completions = written(model)
    longest = max(len(each.tokens) for each in completions)
    assert longest == SAMPLING.max_new_tokens
    # Whether prompts differ in length, and a look every 8 tokens at how many are left.
    assert len(waits.seen) <= 1 + (longest - 1) // 8, waits.seen


@pytest.mark.usefixtures("way", "recorder")
def test_who_hears_of_passes_hears_while_they_are_replayed(model: PreTrainedModel) -> None:
    heard: list[int] = []
    with model.base_model.register_forward_pre_hook(lambda *_: heard.append(1)):
        completions = written(model)
    assert len(completions[0].tokens) // 8 <= len(heard) <= 20


def test_a_pass_touches_nothing_but_its_device() -> None:
    """On tensors without contents whatever the host wants to know, or brings along, is an error."""
    like = grouped_heads(vocabulary=128)
    with torch.device("meta"):
        model = Qwen2ForCausalLM(like.config).requires_grad_(False)
        layers = range(like.config.num_hidden_layers)
        held = [torch.zeros(3, 2, 5, like.model.layers[0].self_attn.head_dim) for _ in layers]
        bias, places = torch.zeros(3, 1, 1, 5), torch.arange(12)
        prefix = Prefix(tuple(held), tuple(held), bias, group=4, places=places)
        ends, draws = torch.zeros(12, dtype=torch.long), torch.zeros(12, 48, dtype=torch.float64)
    rows = Rows(ModulePasses(model), prefix, ends, draws, SAMPLING, end=1, standing=True)
    with torch.inference_mode():
        rows.memory.go_to(1)
        rows.go_on()
        with pytest.raises(RuntimeError, match="meta"):
            rows.living()


def counting(work: list[str]) -> Callable[[], None]:
    return lambda: work.append("done")


def test_what_cannot_be_recorded_is_done_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(action: Callable[[], None]) -> Callable[[], None]:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(recording, "record", refuse)
    work: list[str] = []
    go_on = Repeated(counting(work))
    for _ in range(4):
        go_on((12, 4))
    assert len(work) == 4
    (line,) = caplog.messages
    assert line.startswith("a pass cannot be recorded, and is launched for every token: operation")
