"""Tiny Qwen2-architecture models and their tokenizers.

They have the architecture, file format, chat markup and tags of the real models, at a size that a
laptop trains in minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import torch
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from pipeline.config.models import TinySize
from pipeline.engine.linear import use_faster_linear
from pipeline.model.turns import TEMPLATES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PAD, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TAGS = ("<think>", "</think>", "<answer>", "</answer>")


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerBase:
    """Train a byte-level BPE tokenizer on texts; any other text still encodes, byte by byte.

    Text is cut into words as Qwen2's tokenizer does, because transformers, vLLM and verl load the
    tokenizer of any Qwen2-architecture model as that class.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()  # type: ignore[assignment]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(TAGS),
        special_tokens=[PAD, IM_START, IM_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in TAGS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=IM_END,
        pad_token=PAD,
        additional_special_tokens=[IM_START],
        chat_template=TEMPLATES["chatml"],  # without Qwen's default system prompt
        clean_up_tokenization_spaces=False,
    )


def make_model(
    size: TinySize,
    tokenizer: PreTrainedTokenizerBase,
    *,
    context: int,
    seed: int,
    look_back: bool | Literal["again"] = False,
) -> Qwen2ForCausalLM:
    """A Qwen2 model of the given shape with random weights drawn from ``seed``.

    Args:
        tokenizer: Source of vocabulary size, end and padding tokens.
        context: Longest sequence in tokens.
        look_back: Initialise the first head of the first layer as a previous-token head; with
            ``again``, that of the second layer as an induction head.
    """
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=4 * size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        # Qwen's 0.02 suits widths in the thousands; at 64-256 it hides the signal that copying a
        # word from the story needs, and the warm start stays at chance for hundreds of steps.
        initializer_range=size.hidden**-0.5,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation="sdpa",
        architectures=["Qwen2ForCausalLM"],  # other tools ask the configuration for the class
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(config)
    if look_back:
        _look_back(model)
    if look_back == "again":
        _find_again(model)
    use_faster_linear(model)
    return model


_SHARPNESS = 5.0
"""Length of each rotated pair of the biases; larger is closer to hard attention."""


@torch.no_grad()
def _look_back(model: Qwen2ForCausalLM) -> None:
    """Initialise the first head of the first layer as a previous-token head.

    Rotary positions turn pair f of a query by its position times the frequency t_f, and of a key
    likewise, so that two constant vectors match best at the distance by which they are turned apart
    beforehand: here, one token. Such a head is half of an induction head, and the half that small
    models take longest to learn.
    """
    attention = model.model.layers[0].self_attn
    size = attention.head_dim
    frequencies: torch.Tensor = model.model.rotary_emb.inv_freq  # type: ignore[assignment]
    for projection in (attention.q_proj, attention.k_proj):
        projection.weight[:size] = 0
    flat = torch.zeros_like(frequencies)
    attention.k_proj.bias[:size] = _SHARPNESS * torch.cat([flat + 1, flat])
    turned = torch.cat([frequencies.cos(), -frequencies.sin()])
    attention.q_proj.bias[:size] = _SHARPNESS * turned


_BESIDE = 0.05
"""Initial scale of all other heads and layers, relative to their usual initialisation."""
_TOLD_BACK, _MATCHES, _SAYS = 0.3, 2.0, 1.0
"""Scales: output of the previous-token head; queries and keys; output of the match."""
_NEAR = 3
"""Number of fast rotary pairs left out, as they would encode distance rather than a token."""


@torch.no_grad()
def _find_again(model: Qwen2ForCausalLM) -> None:
    """Initialise a head of the second layer as an induction head (Olsson et al. 2022, arXiv
    2209.11895).

    Where a token occurred before, it reads the token that followed. Part of an embedding identifies
    the token, another part, after the first layer, the token before; queries read the one, keys the
    other. Slow rotary pairs favour recent matches. The output of everything else is noise at first,
    and scaled down.
    """
    size, hidden = model.model.layers[0].self_attn.head_dim, model.config.hidden_size
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight *= _BESIDE
        layer.mlp.down_proj.weight *= _BESIDE
    with torch.random.fork_rng():
        torch.manual_seed(0)
        directions: torch.Tensor = torch.linalg.qr(torch.randn(hidden, hidden))[0]
    slow = [place for place in range(size) if place % (size // 2) >= _NEAR]
    own, before = directions[: len(slow)], directions[len(slow) : 2 * len(slow)]
    back, again = (layer.self_attn for layer in model.model.layers[:2])
    for head, said in ((back, _TOLD_BACK * before), (again, _SAYS * own)):
        head.v_proj.weight[:size] = 0
        head.v_proj.weight[: len(slow)] = own
        head.o_proj.weight[:, :size] = 0
        head.o_proj.weight[:, : len(slow)] = said.T
    for projection, read in ((again.q_proj, own), (again.k_proj, before)):
        projection.weight[:size] = 0
        projection.bias[:size] = 0
        projection.weight[slow] = _MATCHES * read
