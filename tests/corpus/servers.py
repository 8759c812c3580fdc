"""What servers answer instead of a completion, each in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TOO_LONG, FILTERED = "prompt_too_long", "content_filter"

# (server, status, body, finish reason)
REFUSED: tuple[tuple[str, int, Mapping[str, Any], str], ...] = (
    ("OpenAI, by a code", 400, {"error": {"message": "m", "code": "context_length_exceeded"}}, TOO_LONG),
    ("vLLM", 400, {"error": {"message": "This model's maximum context length is 64 tokens; lower 'max_completion_tokens'", "code": 400}}, TOO_LONG),
    ("llama.cpp", 400, {"error": {"message": "m", "type": "exceed_context_size_error"}}, TOO_LONG),
    ("SGLang", 400, {"object": "error", "message": "The input (90 tokens) is longer than the model's context length (64 tokens)"}, TOO_LONG),
    ("text-generation-inference", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 64", "error_type": "validation"}, TOO_LONG),
    ("Anthropic", 400, {"error": {"message": "prompt is too long: 90 tokens > 64 maximum"}}, TOO_LONG),
    ("Anthropic, with the answer", 400, {"error": {"message": "input length and `max_tokens` exceed context limit: 60 + 16 > 64"}}, TOO_LONG),
    ("Gemini", 400, [{"error": {"code": 400, "message": "The input token count (90) exceeds the maximum number of tokens allowed (64)."}}], TOO_LONG),
    ("Bedrock", 400, {"message": "Input is too long for requested model."}, TOO_LONG),
    ("Cohere", 400, {"message": "too many tokens: the prompt cannot exceed 64"}, TOO_LONG),
    ("DashScope", 400, {"error": {"message": "Range of input length should be [1, 64]", "code": "invalid_parameter_error"}}, TOO_LONG),
    ("Azure, a filter", 400, {"error": {"message": "m", "code": "content_filter"}}, FILTERED),
    ("Azure, a policy", 400, {"error": {"message": "filtered due to Azure OpenAI's content management policy", "code": None}}, FILTERED),
    ("OpenAI, of images", 400, {"error": {"message": "rejected by our safety system", "code": None}}, FILTERED),
    ("OpenAI, of reasoning models", 400, {"error": {"message": "Invalid prompt: m", "code": "invalid_prompt"}}, FILTERED),
    ("DeepSeek", 400, {"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}}, FILTERED),
    ("DashScope, a filter", 400, {"error": {"message": "Input data may contain inappropriate content.", "code": "data_inspection_failed"}}, FILTERED),
    ("OpenRouter", 403, {"error": {"message": "moderation: your input was flagged", "code": 403}}, FILTERED),
    ("OpenRouter, with status 200", 200, {"error": {"message": "content_filter", "code": 400}}, FILTERED),
)  # fmt: skip
"""Of one question."""


def _unsupported(name: str, more: str = "") -> tuple[int, dict[str, Any]]:
    message = f"Unsupported parameter: '{name}' is not supported with this model.{more}"
    return 400, {"error": {"message": message, "param": name, "code": "unsupported_parameter"}}


def _extra(name: str) -> tuple[int, dict[str, Any]]:
    extra = {
        "type": "extra_forbidden",
        "loc": ["body", name],
        "msg": "Extra inputs are not permitted",
    }
    return 422, {"object": "error", "message": {"detail": [extra]}, "type": "invalid_request_error"}


def _unknown(name: str) -> tuple[int, list[dict[str, Any]]]:
    return 400, [{"error": {"code": 400, "message": f'Unknown name "{name}": Cannot find field.'}}]


# (server, what it says to each field that it refuses)
DIALECTS: tuple[tuple[str, Mapping[str, tuple[int, Any]]], ...] = (
    ("an older one", {"max_completion_tokens": _unsupported("max_completion_tokens")}),
    ("OpenAI", {"max_tokens": _unsupported("max_tokens", " Use 'max_completion_tokens' instead.")}),
    ("OpenAI, by the field alone", {"max_tokens": (400, {"error": {"message": "m", "param": "max_tokens"}})}),
    ("OpenAI, of reasoning models", {name: _unsupported(name) for name in ("max_tokens", "temperature", "top_p")}),
    ("Mistral", {name: _extra(name) for name in ("seed", "max_completion_tokens")}),
    ("Gemini", {"seed": _unknown("seed")}),
    ("one that knows two fields", {name: _extra(name) for name in ("seed", "top_p", "temperature")}),
    ("llama.cpp, an older one", {"seed": (400, {"error": {"message": "invalid 'seed'", "type": "invalid_request_error"}})}),
    ("Groq", {"top_p": (400, {"error": {"message": "property 'top_p' is unsupported"}})}),
    ("Anthropic", {"top_p": (400, {"error": {"message": "`temperature` and `top_p` cannot both be specified"}})}),
)  # fmt: skip
"""Of fields, whatever the question."""
