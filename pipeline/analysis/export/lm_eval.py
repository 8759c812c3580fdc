"""Columns of a cell as lm-evaluation-harness writes them with ``--log_samples``.

``results_TIME.json`` and ``samples_TASK_TIME.jsonl`` in a folder for each model (lm_eval 0.4.13,
``result_schema.py`` and ``loggers/evaluation_tracker.py``). ``acc`` is the benchmark's published
rule, ``exact_match`` the strict one; the standard error is that of the interval by story.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from pipeline.analysis.export.answered import AnsweredSample, Column

_METRICS = ("acc", "exact_match", "format_ok")
_NORMAL = 1.959964  # half a 95 % interval in standard errors


def folder_name(column: Column) -> str:
    """The folder of a cell's files: the model's name, as the harness writes it."""
    return f"{column.study}__{column.cell}"


def time_of(columns: Sequence[Column]) -> str:
    """The time in the names of a cell's files: when the last answer was there."""
    ended = max(column.ended for column in columns)
    return ended.replace(tzinfo=None).isoformat(timespec="microseconds").replace(":", "-")


def samples(column: Column) -> Iterator[dict[str, Any]]:
    """Yield the lines of a column's samples; of several to a question the first."""
    arguments = _generation(column)
    for place, answered in enumerate(column.first()):
        yield _sample(place, answered, arguments)


def _sample(place: int, answered: AnsweredSample, arguments: dict[str, Any]) -> dict[str, Any]:
    doc = _doc(answered)
    prompt = json.dumps(answered.prompt.messages, ensure_ascii=False)
    return {
        "doc_id": place,
        "doc": doc,
        "target": answered.example.answer,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": arguments}},
        "resps": [[answered.response]],
        "filtered_resps": [answered.extracted or ""],
        "filter": "none",
        "metrics": list(_METRICS),
        "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(answered.example.answer),
        "acc": float(answered.correct),
        "exact_match": float(answered.strict),
        "format_ok": float(answered.format_ok),
    }


def _doc(answered: AnsweredSample) -> dict[str, Any]:
    """The question; what may be empty is JSON text, so that it has one type in all files.

    ``datasets`` takes the types of the first file for those of all.
    """
    example = answered.example
    return {
        "id": example.id,
        "benchmark": example.benchmark,
        "task": example.task,
        "story": example.story,
        "question": example.question,
        "choices": json.dumps(example.choices, ensure_ascii=False),
        "answer": example.answer,
        "belief_order": json.dumps(example.order),
        "question_type": example.question_type,
        "story_id": example.story_id,
        "prompt_digest": answered.digest,
        "answer_begins_with": answered.prompt.begun,
        "finish_reason": answered.finish_reason,
        "completion_tokens": answered.tokens,
        "meta": json.dumps(dict(example.meta), ensure_ascii=False, sort_keys=True),
    }


def results(columns: Sequence[Column]) -> dict[str, Any]:
    """The results file of a cell's columns."""
    first = columns[0]
    name = f"{first.study}/{first.cell}"
    return {
        "results": {column.name: _scores(column) for column in columns},
        "group_subtasks": {column.name: [] for column in columns},
        "configs": {
            column.name: {
                "task": column.name,
                "output_type": "generate_until",
                "num_fewshot": 0,
                "metric_list": [{"metric": metric} for metric in _METRICS],
                "generation_kwargs": _generation(column),
                "metadata": column.about(),
            }
            for column in columns
        },
        "versions": {column.name: 0 for column in columns},
        "n-shot": {column.name: 0 for column in columns},
        "higher_is_better": {column.name: dict.fromkeys(_METRICS, True) for column in columns},
        "n-samples": {
            column.name: dict.fromkeys(("original", "effective"), len(column.first()))
            for column in columns
        },
        "config": {
            "model": first.engine,
            "model_args": {"pretrained": name},
            "random_seed": first.settings.seed,
        },
        "date": min(column.started for column in columns).timestamp(),
        "transformers_version": first.libraries.get("transformers"),
        "model_source": first.engine,
        "model_name": name,
        "model_name_sanitized": folder_name(first),
        "task_hashes": {column.name: _task_hash(column) for column in columns},
        "total_evaluation_time_seconds": str(_seconds(columns)),
    }


def _scores(column: Column) -> dict[str, Any]:
    scores = column.scores
    low, high = scores.interval
    return {
        "name": column.name,
        "alias": column.name,
        "sample_len": scores.count,
        "acc,none": scores.accuracy,
        "acc_stderr,none": (high - low) / (2 * _NORMAL),
        "exact_match,none": scores.strict_accuracy,
        "format_ok,none": scores.format_rate,
    }


def _generation(column: Column) -> dict[str, Any]:
    sampling = column.asking.sampling
    return {
        "max_gen_toks": sampling.max_new_tokens,
        "do_sample": sampling.temperature > 0,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "until": [],
    }


def _task_hash(column: Column) -> str:
    lines = samples(column)
    return _hash("".join(s["doc_hash"] + s["prompt_hash"] + s["target_hash"] for s in lines))


def _seconds(columns: Sequence[Column]) -> float:
    """The seconds of the stages that made the columns: each may have made several."""
    stages = {(column.started, column.ended) for column in columns}
    return sum((ended - started).total_seconds() for started, ended in stages)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
