"""Prompts that begin alike: sorted together, encoded once, completed as if each stood alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
import torch
from transformers import PreTrainedModel

from pipeline.engine import shared_prefix, siblings, stream
from pipeline.engine.decode import Completion, generate
from pipeline.engine.key_values import OwnKeyValues
from pipeline.engine.passes import Encoded, ModulePasses
from pipeline.engine.sampling import Sampling
from pipeline.engine.shared_prefix import Prefix
from pipeline.engine.siblings import Encoder, Siblings, siblings_of
from pipeline.engine.stream import complete
from pipeline.engine.written_out import WrittenOut
from tests.model.grouped import often_ending

END = 3


def prompts_about(stories: int, questions: int) -> list[list[int]]:
    """Questions about stories of various lengths, shuffled, and one asked again."""
    random = Random(0)
    told = [[random.randrange(5, 90) for _ in range(9 + 4 * story)] for story in range(stories)]
    asked = [
        story + [random.randrange(5, 90) for _ in range(1 + number)]
        for story in told
        for number in range(questions)
    ]
    asked += [[7, 9, 11], [20], asked[0]]
    random.shuffle(asked)
    return asked


def test_siblings_share_what_they_begin_with() -> None:
    prompts = [[1, 2, 3, 4, 9], [8, 8], [1, 2, 3, 4, 5, 6], [1, 7], [1, 2, 3, 4, 9]]
    assert siblings_of(prompts) == [
        Siblings((0, 2, 4), 4),
        Siblings((1,), 0),
        Siblings((3,), 0),
    ]
    assert siblings_of([]) == []
    assert siblings_of([[4]] * 3) == [Siblings((n,), 0) for n in range(3)], (
        "one token is left to do"
    )
    assert siblings_of([(5, 6)] * 3) == [Siblings((0, 1, 2), 1)]


@pytest.mark.parametrize("seed", range(20))
def test_each_prompt_is_in_one_family_and_none_is_encoded_for_more(seed: int) -> None:
    random = Random(seed)
    prompts = [[random.randrange(2) for _ in range(random.randint(1, 9))] for _ in range(60)]
    families = siblings_of(prompts)
    assert sorted(n for family in families for n in family.prompts) == list(range(60))
    assert [family.prompts[0] for family in families] == sorted(f.prompts[0] for f in families)
    for family in families:
        members = [prompts[n] for n in family.prompts]
        assert len({tuple(each[: family.shared]) for each in members}) == 1
        assert family.shared < min(map(len, members))
        assert (len(members) > 1) == bool(family.shared)
        assert not family.shared or family.shared >= siblings.WORTH * max(map(len, members))


def completed(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], sampling: Sampling, places: int
) -> list[Completion]:
    found: dict[int, Completion] = {}
    keys = [(4, n) for n in range(len(prompts))]
    complete(model, prompts, keys, sampling, {END}, places, found.__setitem__)
    return [found[n] for n in range(len(prompts))]


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return often_ending(END)


@pytest.mark.parametrize("sampling", [Sampling(12, 0.0), Sampling(12)], ids=str)
@pytest.mark.parametrize("places", [1, 5, 100])
@pytest.mark.parametrize("passes", [ModulePasses, WrittenOut])
@pytest.mark.parametrize("device", ["processor", "accelerator"])
def test_the_same_completions_as_alone(
    model: PreTrainedModel,
    sampling: Sampling,
    places: int,
    passes: type[ModulePasses | WrittenOut],
    device: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "_ENCODED_AT_ONCE", 4)  # siblings enter in several calls
    monkeypatch.setattr(stream, "passes_of", passes)
    if device == "accelerator":
        monkeypatch.setattr(shared_prefix, "joined", shared_prefix.repeated)
    prompts = prompts_about(stories=6, questions=5)
    keys = [(4, n) for n in range(len(prompts))]
    expected = generate(model, prompts, keys, sampling, {END})
    assert completed(model, prompts, sampling, places) == expected
    assert len({each.tokens for each in expected}) > 10


def test_what_siblings_begin_with_is_encoded_once(
    model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens: list[int] = []
    whole, after = WrittenOut.encode, WrittenOut.encode_after

    def encode(passes: WrittenOut, prompts: Sequence[Sequence[int]]) -> Encoded:
        tokens.extend(map(len, prompts))
        return whole(passes, prompts)

    def encode_after(
        passes: WrittenOut, rests: Sequence[Sequence[int]], prefix: Prefix, begun: Sequence[int]
    ) -> Encoded:
        tokens.extend(map(len, rests))
        return after(passes, rests, prefix, begun)

    monkeypatch.setattr(WrittenOut, "encode", encode)
    monkeypatch.setattr(WrittenOut, "encode_after", encode_after)
    prompts = prompts_about(stories=6, questions=5)
    completed(model, prompts, Sampling(3), places=4)
    families = siblings_of(prompts)
    spared = sum(family.shared * (len(family.prompts) - 1) for family in families)
    assert sum(tokens) == sum(map(len, prompts)) - spared
    assert spared > 0.5 * sum(map(len, prompts))


def test_who_waits_for_a_sibling_holds_no_more_than_what_they_share(model: PreTrainedModel) -> None:
    prompts = prompts_about(stories=6, questions=5)
    encoder = Encoder(WrittenOut(model), prompts)
    first = [family.prompts[0] for family in siblings_of(prompts) if family.shared]
    with torch.inference_mode():
        memory = OwnKeyValues(len(first), max(map(len, prompts)), grows=True)
        encoder.encode(first, range(len(first)), memory)
    held = [t for stem in encoder._stems.values() for t in (*stem.keys, *stem.values)]
    assert held and all(t.untyped_storage().nbytes() == t.numel() * 4 for t in held)
