"""verl's rollouts on CPU: each rank has a server that decodes as the local trainer does.

A server is a Ray actor with a copy of the policy. Before the rollouts of a step, its rank sends it
the weights. Requests that arrive together are decoded in one batch.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

import ray
import torch
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.config import HFModelConfig
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from pipeline.engine.decode import Completion, generate
from pipeline.engine.sampling import Sampling

_BATCH = 64
_GATHER_SECONDS = 0.02  # how long the first request of a batch waits for others


@dataclass(frozen=True)
class _Request:
    prompt: tuple[int, ...]
    key: tuple[int, ...]
    sampling: Sampling
    answer: asyncio.Future[Completion]


class _Config(Protocol):
    """What is read of verl's configuration of rollouts."""

    response_length: int
    seed: int


class _Asked(TypedDict, total=False):
    """What is read of the sampling parameters of a request."""

    max_tokens: int
    max_new_tokens: int
    temperature: float
    top_p: float
    logprobs: bool
    seed: int


class TransformersServer:
    """Decodes with transformers; its methods are those that verl asks of a rollout server."""

    def __init__(self, config: _Config, model_config: object, replica_rank: int) -> None:
        from pipeline.model.weights import load_model

        self._config = config
        folder = omega_conf_to_dataclass(model_config, dataclass_type=HFModelConfig).local_path
        self._model, self._tokenizer = load_model(folder)
        self._rank = replica_rank
        self._step: int | None = None
        self._seen: Counter[tuple[int, ...]] = Counter()
        self._waiting: list[_Request] = []
        self._decoding: asyncio.Task[None] | None = None

    async def load_weights(self, weights: dict[str, torch.Tensor], step: int) -> None:
        """Take the weights after a step."""
        from pipeline.model.weights import load_weights

        load_weights(self._model, weights)
        self._step = step
        self._seen.clear()

    async def generate(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        sampling_params: _Asked,
        **_: object,
    ) -> TokenOutput:
        """One completion of a prompt.

        Raises:
            RuntimeError: If no weights have been sent.
        """
        if self._step is None:
            raise RuntimeError("a rollout was asked for before the weights were sent")
        prompt = tuple(prompt_ids)
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        sampling = self._sampling(sampling_params)
        seed = sampling_params.get("seed")
        key = self._key(prompt) if seed is None else (seed,)
        self._waiting.append(_Request(prompt, key, sampling, answer))
        if self._decoding is None or self._decoding.done():
            self._decoding = asyncio.create_task(self._decode())
        completion = await answer
        tokens = list(completion.tokens)
        logprobs = None
        if sampling_params.get("logprobs"):
            logprobs = await asyncio.to_thread(self._logprobs, prompt, tokens, sampling)
        return TokenOutput(
            token_ids=tokens,
            log_probs=logprobs,
            stop_reason="completed",
            extra_fields={"global_steps": self._step},
        )

    def _sampling(self, params: _Asked) -> Sampling:
        limit = params.get("max_tokens") or params.get("max_new_tokens")
        return Sampling(
            limit or self._config.response_length,
            params.get("temperature", 1.0),
            params.get("top_p", 1.0),
        )

    def _key(self, prompt: tuple[int, ...]) -> tuple[int, ...]:
        """The key of a completion's random numbers: seed, step, prompt, and which it is."""
        assert self._step is not None
        count = self._seen[prompt]
        self._seen[prompt] += 1
        digest = hashlib.sha256(repr(prompt).encode()).digest()[:6]
        seed = int(self._config.seed)
        return (seed, self._step, int.from_bytes(digest, "big"), self._rank, count)

    async def _decode(self) -> None:
        """Answer the waiting requests, batch by batch."""
        from pipeline.model.weights import end_ids_of

        while self._waiting:
            await asyncio.sleep(_GATHER_SECONDS)
            sampling = self._waiting[0].sampling
            batch = [r for r in self._waiting if r.sampling == sampling][:_BATCH]
            self._waiting = [r for r in self._waiting if r not in batch]
            try:
                completions = await asyncio.to_thread(
                    generate,
                    self._model,
                    [request.prompt for request in batch],
                    [request.key for request in batch],
                    sampling,
                    end_ids_of(self._model, self._tokenizer),
                )
            except Exception as error:
                for request in batch:
                    request.answer.set_exception(error)
                continue
            for request, completion in zip(batch, completions, strict=True):
                request.answer.set_result(completion)

    @torch.no_grad()
    def _logprobs(
        self, prompt: Sequence[int], tokens: list[int], sampling: Sampling
    ) -> list[float]:
        """The log-probability that each token was drawn with, before the nucleus."""
        ids = torch.tensor([[*prompt, *tokens]])
        logits = self._model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
        scaled = torch.log_softmax(logits.float() / (sampling.temperature or 1.0), dim=-1)
        return scaled.gather(-1, torch.tensor(tokens).unsqueeze(-1)).squeeze(-1).tolist()

    async def ready(self, *_: object, **__: object) -> None:
        """Do nothing: a server on CPU holds no memory that has to be given back."""

    wake_up = sleep = abort_all_requests = resume_generation = ready
    clear_kv_cache = release_kv_cache = resume_kv_cache = ready
    start_profile = stop_profile = ready


class TransformersReplica(RolloutReplica):  # type: ignore[misc]
    """Starts the server of one rank."""

    async def launch_servers(self) -> None:
        """Start the server and wait until its model is loaded."""
        server = ray.remote(TransformersServer).options(
            name=_server_name(self.replica_rank), num_cpus=1
        )
        self._server_handle = server.remote(self.config, self.model_config, self.replica_rank)
        self.servers = [self._server_handle]
        self._server_address = _server_name(self.replica_rank)
        await self._server_handle.ready.remote()


class WeightSender(BaseRollout):  # type: ignore[misc]
    """The training process's side: sends its rank's server the weights."""

    def __init__(
        self, config: object, model_config: object, device_mesh: object, replica_rank: int = -1
    ) -> None:
        super().__init__(config, model_config, device_mesh)
        self._rank = int(os.environ["RANK"])

    async def resume(self, tags: list[str]) -> None:
        """Do nothing."""

    async def release(self) -> None:
        """Do nothing."""

    async def update_weights(
        self,
        weights: Iterator[tuple[str, torch.Tensor]] | AsyncIterator[tuple[str, torch.Tensor]],
        global_steps: int | None = None,
        **_: object,
    ) -> None:
        """Send the weights; every rank walks through all of them, because each is gathered."""
        assert isinstance(weights, Iterator)
        named = {name: tensor.detach().float().cpu().clone() for name, tensor in weights}
        server = ray.get_actor(_server_name(self._rank))
        await server.load_weights.remote(named, global_steps or 0)


def _server_name(rank: int) -> str:
    return f"transformers_server_{rank}"
