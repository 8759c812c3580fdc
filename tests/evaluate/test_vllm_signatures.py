"""The worker calls vLLM as the trainer image's version takes it, whichever version tests run.

``vllm_signatures.json`` was read from the sources of that version's wheel.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from pipeline.ops.vllm import worker
from tests.conftest import PROJECT

KNOWN: dict[str, Any] = json.loads(
    Path(__file__).with_name("vllm_signatures.json").read_text(encoding="utf-8")
)
TREE = ast.parse(Path(worker.__file__).read_text(encoding="utf-8"))


def calls(name: str) -> list[ast.Call]:
    """The calls of a class or a method of this name in the worker."""
    found = [
        node
        for node in ast.walk(TREE)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", None)) == name
    ]
    assert found, name
    return found


def test_the_signatures_are_those_of_the_image() -> None:
    pinned = re.search(r"^vllm==(\S+)$", (PROJECT / "requirements/trainer.txt").read_text(), re.M)
    assert pinned and pinned[1] == KNOWN["version"]


def test_classes_take_what_the_worker_gives() -> None:
    for name in ("LLM", "SamplingParams"):
        for call in calls(name):
            assert not call.args
            assert {keyword.arg for keyword in call.keywords} <= set(KNOWN[name]), name


def test_the_engine_has_the_methods_that_the_worker_calls() -> None:
    for name, parameters in KNOWN["LLMEngine"].items():
        for call in calls(name):
            assert not call.keywords
            assert len(call.args) <= len(parameters)
            if name == "add_request":
                assert parameters[:3] == ["request_id", "prompt", "params"]


def test_answers_have_what_the_worker_reads() -> None:
    read = {node.attr for node in ast.walk(TREE) if isinstance(node, ast.Attribute)}
    assert {"request_id", "outputs", "finished"} <= read & set(KNOWN["RequestOutput"])
    assert {"token_ids", "finish_reason"} <= read & set(KNOWN["CompletionOutput"])
    assert "FINAL_ONLY" in read & set(KNOWN["RequestOutputKind"])
