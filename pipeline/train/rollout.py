"""Rollouts: sampling completions for a batch of prompts, and rewarding them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import Imitated
from pipeline.engine.decode import Completion, generate
from pipeline.engine.device import answering
from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.model.chat import EMPTY_THOUGHT, refuse_control
from pipeline.model.weights import end_ids_of
from pipeline.reward.presets import safe_reward
from pipeline.reward.reward import Preset, Reward
from pipeline.train.data import TokenisedRow, response_to


@dataclass(frozen=True)
class Rollouts:
    """P prompts with G completions each, prompt by prompt."""

    rows: tuple[TokenisedRow, ...]
    completions: tuple[Completion, ...]
    texts: tuple[str, ...]
    rewards: tuple[Reward, ...]

    @property
    def group(self) -> int:
        return len(self.completions) // len(self.rows)

    def right(self) -> Rollouts:
        """The right completions alone, each with its prompt; duplicates once."""
        of = {
            (place // self.group, tuple(self.completions[place].tokens)): place
            for place in reversed(range(len(self.completions)))
            if self.rewards[place].right and self.completions[place].finished
        }
        kept = sorted(of.values())
        return self._taken([place // self.group for place in kept], kept)

    @property
    def tokens(self) -> int:
        return sum(len(c.tokens) for c in self.completions)

    def ordered(self, prompts: Sequence[int]) -> Rollouts:
        """The same with its prompts in another order, given by indices."""
        places = [prompt * self.group + n for prompt in prompts for n in range(self.group)]
        return self._taken(prompts, places)

    def _taken(self, prompts: Sequence[int], places: Sequence[int]) -> Rollouts:
        return Rollouts(
            tuple(self.rows[prompt] for prompt in prompts),
            tuple(self.completions[place] for place in places),
            tuple(self.texts[place] for place in places),
            tuple(self.rewards[place] for place in places),
        )


def sample(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[TokenisedRow],
    sampling: Sampling,
    *,
    group: int,
    stream: tuple[int, ...],
    precision: str,
    recording: Recording,
) -> list[Completion]:
    """Sample ``group`` completions for each row.

    Args:
        stream: Prefix of every random key, such as (seed, step); the rest is the prompt's id and
            the sample's index.
    """
    keys = list(_keys(rows, group, stream))
    with answering(model, precision):
        prompts = [row.prompt for row in rows]
        stops = end_ids_of(model, tokenizer)
        return generate(model, prompts, keys, sampling, stops, recording)


def _keys(
    rows: Sequence[TokenisedRow], group: int, stream: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Yield the random key of each completion.

    Samples of a prompt are numbered through the batch, so that a duplicate prompt, as in small
    data, draws other completions.
    """
    drawn: Counter[int] = Counter()
    for row in rows:
        prompt = int(row.example.id[:12], 16)
        for index in range(drawn[prompt], drawn[prompt] + group):
            yield (*stream, prompt, index)
        drawn[prompt] += group


def imitate(
    tokenizer: PreTrainedTokenizerBase, rows: Sequence[TokenisedRow], what: Imitated
) -> list[Completion]:
    """The response to imitate as a completion, for each row that has one."""
    texts = [text for row in rows if (text := response_to(row.example, what))]
    for text in texts:
        refuse_control(tokenizer.all_special_tokens, text)
    tokens = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    return [Completion((*each, end), finished=True) for each in tokens]


@dataclass(frozen=True)
class Judge:
    """Decodes completions and rewards them; without ``think``, after an empty thought."""

    tokenizer: PreTrainedTokenizerBase
    preset: Preset
    think: bool = True

    def __call__(
        self, rows: Sequence[TokenisedRow], completions: Sequence[Completion], draw: str = ""
    ) -> Rollouts:
        """Decode and reward completions, the same number per row, prompt by prompt.

        ``draw`` names them for a random reward.
        """
        begun = "" if self.think else EMPTY_THOUGHT
        texts = tuple(begun + text for text in decode_texts(self.tokenizer, completions))
        group = len(completions) // len(rows)
        rewards = tuple(
            safe_reward(self.preset.drawing(f"{draw}:{index}"), text, rows[index // group].example)
            for index, text in enumerate(texts)
        )
        return Rollouts(tuple(rows), tuple(completions), texts, rewards)


def decode_texts(
    tokenizer: PreTrainedTokenizerBase, completions: Sequence[Completion]
) -> tuple[str, ...]:
    """The texts of completions without their end-of-sequence tokens."""
    tokens = [list(c.tokens[:-1] if c.finished else c.tokens) for c in completions]
    return tuple(tokenizer.batch_decode(tokens, skip_special_tokens=False))
