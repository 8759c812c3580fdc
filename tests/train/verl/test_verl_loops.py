"""A repeatable training asks the rollout engine with a seed for each completion."""

from __future__ import annotations

import asyncio
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.model.tiny import make_tokenizer
from pipeline.ops.verl.compose import compose
from tests.conftest import PROJECT
from tests.train.verl.test_verl_overrides import settings

ROLLOUT = "actor_rollout_ref.rollout"


class Server:
    """A rollout engine that ends each answer at once."""

    def __init__(self, stop: int) -> None:
        self.asked: list[dict[str, Any]] = []
        self.stop = stop

    async def generate(self, **request: Any) -> SimpleNamespace:
        """One completion."""
        self.asked.append(request)
        return SimpleNamespace(
            token_ids=[self.stop],
            log_probs=None,
            num_preempted=0,
            routed_experts=None,
            extra_fields={},
        )


def requests(step: int, ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """What the loop that verl makes asks for: three completions of each question in a step."""
    omegaconf = import_module("omegaconf")
    agents = import_module("verl.experimental.agent_loop.agent_loop")
    found = compose(settings(cluster={"deterministic": True}))
    assert found.value(f"{ROLLOUT}.full_determinism") is True
    path = PROJECT / str(found.value(f"{ROLLOUT}.agent.agent_loop_config_path"))
    loops = {each.name: each for each in omegaconf.OmegaConf.load(path)}
    tokenizer = make_tokenizer(["Where is it? ."], 300)
    server = Server(tokenizer.convert_tokens_to_ids("."))
    config = omegaconf.OmegaConf.create(found.config)

    async def ask() -> None:
        loop = import_module("hydra.utils").instantiate(
            loops[found.value(f"{ROLLOUT}.agent.default_agent_loop")],
            trainer_config=agents.DictConfigWrap(config),
            server_manager=server,
            tokenizer=tokenizer,
            processor=None,
            dataset_cls=None,
            data_config=agents.DictConfigWrap(config.data),
            hf_model_type="qwen2",
        )
        for question in ids:
            for completion in range(3):
                prompt = [{"role": "user", "content": "Where is it?"}]
                await loop.run(
                    {"temperature": 1.0},
                    raw_prompt=prompt,
                    extra_info={"id": question},
                    global_steps=step,
                    session_id=completion,
                    uid="of this run",
                )

    asyncio.run(ask())
    return server.asked


def named(asked: list[dict[str, Any]]) -> set[tuple[str, int]]:
    """The names and seeds of requests."""
    return {(each["request_id"], each["sampling_params"]["seed"]) for each in asked}


@pytest.mark.verl
def test_each_completion_has_a_seed_of_its_own_that_another_run_gives_it_again() -> None:
    first = requests(1, ("a", "b"))
    seeds = [each["sampling_params"]["seed"] for each in first]
    assert len({*seeds}) == len({each["request_id"] for each in first}) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)
    again = requests(1, ("b", "a"))
    assert named(again) == named(first)
    assert not named(requests(2, ("a", "b"))) & named(first)
