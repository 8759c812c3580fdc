"""Scores answers with an exported environment; run by the interpreter of the library it is for.

``python environments.py verifiers|trl|inspect|lm-eval PACKAGE`` reads answers as JSON, pairs of a
question's place and a response, and prints what the strict and the published rule say of each, and
what it earns.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Answers = list[tuple[int, str]]


def verifiers(package: Any, answers: Answers) -> list[Any]:
    """By the task's own reward and metrics, found as verifiers finds them."""
    from verifiers.v1.utils.loaders import load_taskset, taskset_config_type

    name = package.__name__.replace("_", "-")
    config = taskset_config_type(name)(id=name, split="test")
    tasks = list(load_taskset(config))

    async def scored() -> list[Any]:
        said = [(tasks[place], SimpleNamespace(last_reply=text)) for place, text in answers]
        return [
            [*(await task.marked(trace)).values(), await task.earned(trace)] for task, trace in said
        ]

    return asyncio.run(scored())


def trl(package: Any, answers: Answers) -> list[Any]:
    """By the reward functions, and two steps of GRPO with them and a model."""
    rewards = import_module(f"{package.__name__}.trl_rewards")
    rows = rewards.dataset("test")
    said = [[{"role": "assistant", "content": text}] for _, text in answers]
    asked = rows[:]["row"]
    earned = rewards.earned(said, [asked[place] for place, _ in answers])
    for model in sys.argv[3:]:
        _two_steps(rewards, Path(model))
    return earned


def _two_steps(rewards: Any, model: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    settings = GRPOConfig(
        output_dir=str(model.parent / "trained"),
        per_device_train_batch_size=16,
        num_generations=4,
        max_completion_length=80,
        learning_rate=1e-4,
        max_steps=2,
        use_cpu=True,
        bf16=False,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
    )
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model),
        processing_class=AutoTokenizer.from_pretrained(model),
        reward_funcs=rewards.reward_funcs,
        train_dataset=rewards.dataset("train"),
        args=settings,
    )
    trainer.train()
    steps = [each for each in trainer.state.log_history if "grad_norm" in each]
    assert len(steps) == trainer.state.global_step == 2
    assert all(each["rewards/earned/mean"] > 0 and each["grad_norm"] > 0 for each in steps), steps


def inspect(package: Any, answers: Answers) -> list[Any]:
    """By the task's scorer."""
    from inspect_ai.scorer import Target

    module = import_module(f"{package.__name__}.inspect_task")
    samples, score = list(module.beliefs().dataset), module.graded()

    async def scored() -> list[Any]:
        found = []
        for place, text in answers:
            output = SimpleNamespace(completion=text)
            state = SimpleNamespace(output=output, metadata=samples[place].metadata)
            value = (await score(state, Target(samples[place].target))).value
            found.append([value["strict"], value["correct"]])
        return found

    return asyncio.run(scored())


def lm_eval(package: Any, answers: Answers) -> list[Any]:
    """By the task file, as the harness loads it."""
    from lm_eval.tasks import TaskManager

    folder = str(Path(package.__file__).parent)
    loaded = TaskManager(include_path=folder, include_defaults=False).load(package.__name__)
    (task,) = _tasks(loaded)
    docs = list(task.test_docs())
    assert task.doc_to_text(docs[0]) and task.doc_to_target(docs[0])
    said = [task.process_results(docs[place], [text]) for place, text in answers]
    return [[each["exact_match"], each["acc"]] for each in said]


def _tasks(loaded: Any) -> list[Any]:
    if isinstance(loaded, dict):
        return [task for each in loaded.values() for task in _tasks(each)]
    return [loaded] if hasattr(loaded, "process_results") else []


if __name__ == "__main__":
    library, place = sys.argv[1:3]
    (package,) = (each.name for each in Path(place).iterdir() if each.is_dir())
    sys.path.insert(0, place)
    score = {"verifiers": verifiers, "trl": trl, "inspect": inspect, "lm-eval": lm_eval}
    print(json.dumps(score[library](import_module(package), json.load(sys.stdin))))
