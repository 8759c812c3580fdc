"""Completions that verl samples again as it did before."""

from __future__ import annotations

from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from pipeline.formats.files import digest_of


class SeededLoop(SingleTurnAgentLoop):  # type: ignore[misc]
    """verl's loop for one answer, with a seed for each completion.

    With ``rollout.full_determinism`` alone, verl 0.9.1 gives all requests the seed of their server
    and the same name, so that all completions of a prompt would be the same.
    """

    async def run(self, sampling_params: dict[str, Any], **fields: Any) -> AgentLoopOutput:
        """One completion of a prompt."""
        fields["priority"] = seed = seed_of(
            self.rollout_config.seed,
            fields["global_steps"],
            fields["extra_info"]["id"],
            fields["session_id"],
        )  # verl names a request, and chooses its server, by the priority; vLLM ignores it
        return await super().run({**sampling_params, "seed": seed}, **fields)


def seed_of(seed: int, step: int, question: str, completion: int) -> int:
    """The seed of one completion to a question in a step; of 60 bits, where vLLM takes 63."""
    return int(digest_of([int(seed), int(step), question, int(completion)])[:15], 16)
