"""Decoding as on an accelerator: recorded passes write what passes do, and wait for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel, Qwen2ForCausalLM

from pipeline.engine import decode, recording, written_out
from pipeline.engine.batch import sent
from pipeline.engine.decode import Completion, CompletionRows, generate
from pipeline.engine.key_values import StandingKeyValues
from pipeline.engine.passes import ModulePasses
from pipeline.engine.recording import Recording, Repeated, record
from pipeline.engine.sampling import Sampling
from pipeline.engine.shared_prefix import Prefix
from pipeline.engine.written_out import WrittenOut
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
    monkeypatch.setattr(StandingKeyValues, "fewest", 4)
    return recorder


def written(model: PreTrainedModel, end: int = -1) -> list[Completion]:
    return generate(model, PROMPTS, KEYS, SAMPLING, {end})


def frequent(completions: list[Completion]) -> int:
    """The token that comes most often."""
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
    assert {len(each.tokens) for each in completions} == {48}
    # First the tokens that end a text, a look every 8 tokens at how many are left, and at the end
    # the tokens and their lengths.
    assert Counter(waits.seen) == {"tensor": 1, "item": 47 // 8, "tolist": 2}


@pytest.mark.usefixtures("way", "recorder")
def test_who_hears_of_passes_hears_while_they_are_replayed(model: PreTrainedModel) -> None:
    heard: list[int] = []
    with model.base_model.register_forward_pre_hook(lambda *_: heard.append(1)):
        completions = written(model)
    assert len(completions[0].tokens) // 8 <= len(heard) <= 20


@pytest.mark.parametrize("way", [ModulePasses, WrittenOut])
def test_a_pass_touches_nothing_but_its_device(
    way: type[ModulePasses | WrittenOut], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On tensors without contents whatever the host wants to know, or brings along, is an error."""
    like = grouped_heads(vocabulary=128)
    with torch.device("meta"):
        model = Qwen2ForCausalLM(like.config).requires_grad_(False)
        layers = range(like.config.num_hidden_layers)
        held = [torch.zeros(3, 2, 5, like.model.layers[0].self_attn.head_dim) for _ in layers]
        bias, places = torch.zeros(3, 1, 1, 5), torch.arange(12)
        prefix = Prefix(tuple(held), tuple(held), bias, group=4, places=places)
        ends, draws = torch.zeros(12, dtype=torch.long), torch.zeros(12, 48, dtype=torch.float64)
    grouped: list[bool] = []

    def attend(*tensors: Tensor, enable_gqa: bool, **settings: Any) -> Tensor:
        grouped.append(enable_gqa)
        return scaled_dot_product_attention(*tensors, **settings)

    monkeypatch.setattr(written_out, "scaled_dot_product_attention", attend)
    passes = way(model)
    rows = CompletionRows(passes, prefix, ends, draws, SAMPLING, stops=[1], standing=True)
    with torch.inference_mode():
        rows.memory.go_to(1)
        rows.go_on()
        with pytest.raises(RuntimeError, match="meta"):
            rows.living()
        logits = passes.encode(PROMPTS).logits
    assert logits.shape == (3, 128) and not any(grouped)


def counting(work: list[str]) -> Callable[[], None]:
    return lambda: work.append("done")


def test_what_cannot_be_recorded_is_done_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[Callable[[], None]] = []

    def refuse(action: Callable[[], None]) -> Callable[[], None]:
        tried.append(action)
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(recording, "record", refuse)
    work: list[str] = []
    held = Recording()
    for _ in range(2):
        go_on = Repeated(counting(work), held)
        for shape in (12, 12, 12, 9, 9):
            go_on(shape)
    assert len(work) == 10 and len(tried) == 1, "nothing is tried after the first that failed"
    (line,) = caplog.messages
    assert "launched for every token: operation not permitted" in line


def test_a_full_device_is_no_pass_that_cannot_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(action: Callable[[], None]) -> Callable[[], None]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(recording, "record", refuse)
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        Recording().of(lambda: None)


class Device:
    """Notes what a recording asks of CUDA, as the streams and graphs of torch would take it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, spoilt: bool) -> None:
        self.asked: list[str] = []
        self.spoilt = spoilt
        monkeypatch.setattr(torch.cuda, "Stream", lambda: "side")
        monkeypatch.setattr(torch.cuda, "stream", self.on)
        monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: self)

    @contextmanager
    def on(self, stream: str) -> Iterator[None]:
        self.asked.append(f"enter {stream}")
        try:
            yield
        finally:
            self.asked.append(f"leave {stream}")

    def capture_begin(self, *, capture_error_mode: str) -> None:
        self.asked.append(f"begin {capture_error_mode}")

    def capture_end(self) -> None:
        self.asked.append("end")
        if self.spoilt:
            raise RuntimeError("operation failed due to a previous error during capture")

    def replay(self) -> None:
        self.asked.append("replay")


def test_recording_asks_one_stream_and_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(monkeypatch, spoilt=False)
    again = record(lambda: device.asked.append("act"))
    again()
    again()
    recorded = ["enter side", "begin thread_local", "act", "end", "leave side"]
    assert device.asked == [*recorded, "replay", "replay"]


@pytest.mark.parametrize("error", [RuntimeError, torch.OutOfMemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("spoilt", [True, False])
def test_what_breaks_a_recording_is_told_on_the_stream_before(
    error: type[BaseException], spoilt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(monkeypatch, spoilt=spoilt)

    def act() -> None:
        raise error("what broke it")

    with pytest.raises(error, match="what broke it"):
        record(act)
    assert device.asked == ["enter side", "begin thread_local", "end", "leave side"]


def test_a_recording_that_fails_at_its_end_leaves_the_stream(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    device, work = Device(monkeypatch, spoilt=True), list[str]()
    again = Recording().of(counting(work))
    assert device.asked[-1] == "leave side"
    again()
    assert len(work) == 2 and len(caplog.messages) == 1, "recorded in vain, and then done"


def test_numbers_go_to_an_accelerator_from_pinned_memory_unawaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []

    def pinned(tensor: Tensor) -> Tensor:
        asked.append("pinned")
        return tensor

    def to(tensor: Tensor, device: torch.device, *, non_blocking: bool) -> Tensor:
        asked.append((device.type, non_blocking))
        return tensor

    monkeypatch.setattr(Tensor, "pin_memory", pinned)
    monkeypatch.setattr(Tensor, "to", to)
    # Not by an argument of torch.tensor: that refuses to pin what comes from numpy.
    for numbers in ([1, 2], np.array([1, 2])):
        assert sent(numbers, torch.device("cuda")).tolist() == [1, 2]
    assert asked == ["pinned", ("cuda", True)] * 2
