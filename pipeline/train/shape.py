"""Shapes of models, which decide their memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Shape:
    """A model's shape, by the names of its Hugging Face configuration."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    vocab_size: int
    tie_word_embeddings: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        return cls(**{field.name: config[field.name] for field in fields(cls)})

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads

    @property
    def linear(self) -> tuple[tuple[int, int], ...]:
        """(input, output) of every linear layer but the vocabulary head."""
        hidden, inner = self.hidden_size, self.intermediate_size
        key_value = self.num_key_value_heads * self.head_size
        attention = ((hidden, hidden), (hidden, key_value), (hidden, key_value), (hidden, hidden))
        layer = (*attention, (hidden, inner), (hidden, inner), (inner, hidden))
        return layer * self.num_hidden_layers

    def adapters(self, rank: int) -> int:
        return sum(rank * (inputs + outputs) for inputs, outputs in self.linear)

    @property
    def trunk(self) -> int:
        """Number of parameters without the vocabulary head."""
        key_value = self.num_key_value_heads * self.head_size
        attention = 2 * self.hidden_size**2 + 2 * self.hidden_size * key_value
        biases = self.hidden_size + 2 * key_value
        layer = attention + biases + 3 * self.hidden_size * self.intermediate_size
        layer += 2 * self.hidden_size
        embedding = self.vocab_size * self.hidden_size
        return embedding + self.num_hidden_layers * layer + self.hidden_size

    @property
    def parameters(self) -> int:
        head = 0 if self.tie_word_embeddings else self.vocab_size * self.hidden_size
        return self.trunk + head
