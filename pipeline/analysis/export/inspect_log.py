"""A column of a cell as a log of Inspect (inspect-ai), which ``inspect view`` opens.

The JSON form of its ``EvalLog``, version 2 (inspect_ai 0.3.285, ``log/_log.py``). Prompt tokens are
not recorded, so that usage counts those of responses alone.

It is written here rather than by Inspect itself, since inspect-ai brings 120 packages and wants an
older fsspec than DVC's here: it cannot be installed beside them. `tests/engines/test_export.py`
opens the logs with Inspect in an environment of its own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipeline.analysis.export.answered import AnsweredSample, Column
from pipeline.evaluate.records import TaskScores
from pipeline.formats.files import digest_of

_STOP = {"stop": "stop", "length": "max_tokens", "prompt_too_long": "model_length"}
_SCORERS = {
    "published": "the benchmark's published rule",
    "strict": "equality",
    "form": "whether the response has the form that was asked for",
}


def file_name(column: Column) -> str:
    """The name of the log's file: when it began, the task, an id."""
    started = column.started.isoformat(timespec="seconds").replace(":", "-")
    return f"{started}_{column.name.replace('_', '-')}_{_id(column, 'task')}.json"


def inspect_log(column: Column) -> dict[str, Any]:
    """The log of a column; the same for the same results and times."""
    tokens = sum(each.graded.response.completion_tokens for each in column.answers)
    sampling = _sampling(column)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": _id(column, "eval"),
            "run_id": _id(column, "run"),
            "created": _time(column.started),
            "task": column.name,
            "task_id": _id(column, "task"),
            "task_args": {"study": column.study, "column": column.name},
            "tags": [column.study, column.settings.kind],
            "dataset": {
                "name": column.name,
                "samples": len(column.first()),
                "sample_ids": [each.example.id for each in column.first()],
                "shuffled": False,
            },
            "model": _model(column),
            "model_generate_config": sampling,
            "config": {"epochs": column.asking.samples},
            "packages": column.libraries,
            "metadata": column.about(),
            "viewer": {"trust_content": False},  # what models say is shown as plain text
            "scorers": [{"name": name, "options": {}} for name in _SCORERS],
        },
        "plan": {
            "steps": [{"solver": "generate", "params": {}}],
            "config": sampling,
        },
        "results": {
            "total_samples": len(column.answers),
            "completed_samples": len(column.answers),
            "scores": _scores(column.scores),
            "headline": {"scorer": "published", "metric": "accuracy"},
        },
        "stats": {
            "started_at": _time(column.started),
            "completed_at": _time(column.ended),
            "model_usage": {_model(column): _usage(tokens)},
        },
        "samples": [_sample(column, each) for each in column.answers],
    }


def _sample(column: Column, answered: AnsweredSample) -> dict[str, Any]:
    example, messages, graded = answered.example, answered.prompt.messages, answered.graded
    response = graded.response
    said = {
        "id": _id(column, "message", example.id, graded.sample, "said"),
        "role": "assistant",
        "content": response.text,
        "source": "generate",
        "model": _model(column),
    }
    asked = [
        {
            **message,
            "id": _id(column, "message", example.id, graded.sample, place),
            "source": "input",
        }
        for place, message in enumerate(messages)
    ]
    return {
        "id": example.id,
        "epoch": graded.sample + 1,
        "uuid": _id(column, "sample", example.id, graded.sample),
        "input": asked,
        "choices": None if example.choices is None else list(example.choices),
        "target": example.answer,
        "messages": [*asked, said],
        "output": {
            "model": _model(column),
            "choices": [
                {"message": said, "stop_reason": _STOP.get(response.finish_reason, "unknown")}
            ],
            "completion": response.text,
            "usage": _usage(response.completion_tokens),
        },
        "scores": _sample_scores(answered),
        "metadata": {
            "task": example.task,
            "benchmark": example.benchmark,
            "belief_order": example.order,
            "question_type": example.question_type,
            "story_id": example.story_id,
            "prompt_digest": graded.prompt_digest,
            "answer_begins_with": answered.prompt.begun,
            "meta": dict(example.meta),
        },
        "model_usage": {_model(column): _usage(response.completion_tokens)},
    }


def _sample_scores(answered: AnsweredSample) -> dict[str, Any]:
    grade = answered.graded.grade
    found = {
        "published": grade.correct,
        "strict": grade.strict,
        "form": grade.format_ok,
    }
    heard = "no answer was found" if grade.extracted is None else f"found {grade.extracted!r}"
    return {
        name: {
            "value": "C" if right else "I",
            "answer": grade.extracted,
            "explanation": f"{heard}; gold: {answered.example.answer!r}; by {_SCORERS[name]}",
        }
        for name, right in found.items()
    }


def _scores(scores: TaskScores) -> list[dict[str, Any]]:
    low, high = scores.interval
    metrics = {
        "published": {"accuracy": scores.accuracy, "interval_low": low, "interval_high": high},
        "strict": {"accuracy": scores.strict_accuracy},
        "form": {"accuracy": scores.format_rate},
    }
    return [
        {
            "name": name,
            "scorer": name,
            "scored_samples": scores.count,
            "unscored_samples": 0,
            "metrics": {
                metric: {"name": metric, "value": value} for metric, value in metrics[name].items()
            },
            "metadata": {"rule": rule},
        }
        for name, rule in _SCORERS.items()
    ]


def _sampling(column: Column) -> dict[str, Any]:
    sampling = column.asking.sampling
    return {
        "max_tokens": sampling.max_new_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": column.settings.seed,
    }


def _usage(tokens: int) -> dict[str, int]:
    return {"output_tokens": tokens, "total_tokens": tokens}


def _model(column: Column) -> str:
    return f"{column.study}/{column.cell}"


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _id(column: Column, *what: object) -> str:
    """An id that is the same for the same results."""
    return digest_of([column.study, column.cell, column.digest, *what])[:22]
