"""The engine ``vllm``: a worker in vLLM's own environment, here or as a Ray job.

vLLM and the orchestrator cannot share an environment, so prompts and completions pass as files: a
server on a cluster's node has a port that stages need not reach, while they share a folder with it,
in which what is done outlives both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from transformers import AutoConfig, AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.base.processes import end_group
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import TOO_LONG, EnginePlace, Prompt, Response, respond
from pipeline.formats.files import digest_of, remove, replacing, write_json, write_lines
from pipeline.formats.provenance import Libraries, installed
from pipeline.model.chat import encode_prompt
from pipeline.model.weights import end_ids_in
from pipeline.ops.cluster.job import address_variable
from pipeline.ops.vllm import worker as vllm_worker
from pipeline.ops.vllm.replica import replica_gpus
from pipeline.ops.vllm.worker import DoneRow, PromptRow, Request

if TYPE_CHECKING:  # of the cluster, which a run on this machine has not
    from pipeline.ops.cluster.gpus import Leased
    from pipeline.ops.cluster.job import Job

PYTHON_VARIABLE = "TOMRL_VLLM_PYTHON"
_HOURS = 24.0
_PROMPTS_PER_REPLICA = 256
_ANYWHERE = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    # FlashInfer compiles its sampler with nvcc, which need not be there. It knows no seeds, so that
    # vLLM's own samples what is asked here anyway.
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}
"""Variables of the worker, wherever it runs; those of a build for CPUs it sets itself."""

Launch = Callable[[Path, Callable[[str], None]], None]


def open_engine(place: EnginePlace) -> VllmEngine:
    """The engine of a model: on the cluster of ``RAY_ADDRESS``, else on this machine."""
    on_cluster = address_variable(os.environ)
    return VllmEngine(
        place.model,
        place.work,
        OnCluster() if on_cluster else Here(place.root, place.threads),
    )


class VllmEngine:
    """Runs a model folder with vLLM.

    Args:
        folder: The model, in Hugging Face layout.
        work: Keeps what is done until the last prompt is; a run that was stopped goes on.
        launch: Runs a folder's worker and passes its lines on: :class:`Here` or :class:`OnCluster`.
        replicas: Copies of the model that share the prompts; as many as fit if 0.
    """

    name = "vllm"

    def __init__(
        self,
        folder: Path,
        work: Path,
        launch: Launch,
        replicas: int = 0,
    ) -> None:
        self.folder, self.work, self.launch = folder.resolve(), work.resolve(), launch
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.config = AutoConfig.from_pretrained(folder, local_files_only=True)
        self.replicas = replicas
        self.libraries: Libraries = dict(installed("tokenizers"))

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        """One response for each prompt, in order.

        A prompt that leaves no room for the longest answer in the model's context is not run: its
        response is empty with finish reason ``prompt_too_long``.

        Raises:
            UserError: If there is no environment with vLLM, or the worker fails, or another process
                is at it.
        """
        with owned(self.work):
            rows = self._rows(prompts, sampling)
            skipped = len(prompts) - len(rows)
            report(skipped)
            done = self._answered(rows, lambda count: report(skipped + count)) if rows else []
        responses = [TOO_LONG] * len(prompts)
        read = {row["index"]: len(row["tokens"]) for row in rows}
        for row in done:
            place, tokens = row["index"], row["tokens"]
            responses[place] = respond(self.tokenizer, tokens, row["finished"], read[place])
        return responses

    def _rows(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[PromptRow]:
        """The prompts that leave room for their longest answer, as the worker reads them."""
        context = int(self.config.max_position_embeddings)
        rows: list[PromptRow] = []
        for place, prompt in enumerate(prompts):
            chosen = prompt.sampling or sampling
            tokens = encode_prompt(self.tokenizer, prompt.messages, begun=prompt.begun)
            if len(tokens) <= context - chosen.max_new_tokens:
                row = {"index": place, "tokens": list(tokens), "seed": _seed(prompt.key)}
                rows.append(cast(PromptRow, row | asdict(chosen)))
        return rows

    def _answered(self, rows: Sequence[PromptRow], report: Callable[[int], None]) -> list[DoneRow]:
        """The answers, in any order; those that were there before are not asked for again."""
        # The folder's name is its digest: a checkout may be moved.
        job = self.work / digest_of([self.folder.name, rows])[:12]
        output = job.with_suffix(".jsonl")

        def hear(line: str) -> None:
            if line.startswith(vllm_worker.USER_ERROR):
                raise UserError(f"engine vllm: {line.removeprefix(vllm_worker.USER_ERROR)}")
            if line.startswith(vllm_worker.LIBRARIES):
                self.libraries |= json.loads(line.removeprefix(vllm_worker.LIBRARIES))
            if line.startswith(vllm_worker.DONE):
                report(int(line.removeprefix(vllm_worker.DONE)))

        self.work.mkdir(parents=True, exist_ok=True)
        _write(job, self._request(rows, output), rows)
        self.launch(job, hear)
        done = vllm_worker.read_done(output)
        remove(job)
        remove(output)
        return done

    def _request(self, rows: Sequence[PromptRow], output: Path) -> Request:
        weights = sum(path.stat().st_size for path in self.folder.glob("*.safetensors"))
        width = 4 if self.config.dtype is None or "32" in str(self.config.dtype) else 2
        heads = int(self.config.num_attention_heads)
        key_values = getattr(self.config, "num_key_value_heads", heads)
        return {
            "model": str(self.folder),
            "context": max(len(row["tokens"]) + row["max_new_tokens"] for row in rows),
            "gpus": replica_gpus(weights * 2 // width, heads, key_values),
            "replicas": self.replicas,
            "ends": list(end_ids_in(self.folder, self.tokenizer)),
            "output": str(output),
        }


def _seed(key: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(list(key)).generate_state(1)[0])


def _write(job: Path, request: Request, rows: Sequence[PromptRow]) -> None:
    """Write the folder of a worker, with the worker itself."""
    remove(job)
    with replacing(job) as temporary:
        temporary.mkdir(parents=True)
        write_json(temporary / "request.json", request)
        write_lines(temporary / "prompts.jsonl", [dict(row) for row in rows])
        shutil.copy2(vllm_worker.__file__, temporary / "vllm_worker.py")


class Here:
    """Runs the worker on this machine, in the environment of ``TOMRL_VLLM_PYTHON``.

    Args:
        root: The checkout, whose ``.venv-vllm`` is taken without the variable.
        threads: Threads of the worker.
    """

    def __init__(self, root: Path, threads: int) -> None:
        self._threads = threads
        self._python = Path(
            os.environ.get(PYTHON_VARIABLE) or root / ".venv-vllm" / "bin" / "python"
        )
        if not self._python.is_file():
            raise UserError(
                f"engine vllm: {self._python} does not exist; make it with `make setup-vllm` "
                f"(CPU), set {PYTHON_VARIABLE} to the Python of an environment with vLLM, or "
                "RAY_ADDRESS to a cluster that has it"
            )

    def __call__(self, job: Path, hear: Callable[[str], None]) -> None:
        """Run the worker of a folder to its end."""
        variables = {
            **_ANYWHERE,
            "OMP_NUM_THREADS": str(self._threads),
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_LOGGING_LEVEL": "WARNING",
        }
        log = job.with_suffix(".log")
        with log.open("w", encoding="utf-8") as errors, _leased(job) as own:
            worker = subprocess.Popen(
                [str(self._python), str(job / "vllm_worker.py"), str(job), vllm_worker.WITH_INPUT],
                env={**os.environ, **variables, **own.variables},
                pass_fds=own.handles,
                stdin=subprocess.PIPE,  # nobody writes to it: its end is that of this process
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
            assert worker.stdout is not None
            try:
                for line in worker.stdout:
                    hear(line.rstrip("\n"))
                status = worker.wait()
            finally:
                if worker.poll() is None:
                    end_group(worker, None)
        if status:
            last = "\n".join(log.read_text(encoding="utf-8").splitlines()[-5:])
            raise UserError(f"engine vllm: the worker ended with status {status}; {log}:\n{last}")
        remove(log)


class OnCluster:
    """Runs the worker as a Ray job on the cluster of ``RAY_ADDRESS``.

    The folders of the weights and of the work in progress must be seen by its nodes.
    """

    def __call__(self, job: Path, hear: Callable[[str], None]) -> None:
        """Run the worker of a folder to its end."""
        from pipeline.ops.cluster.run import run_job

        outcome = run_job(self.job(job), hear)
        if outcome.status != "succeeded":
            raise outcome.error("engine vllm")

    def job(self, folder: Path) -> Job:
        """The job of a folder: on the node, and of the accelerators, that Ray gives it."""
        from pipeline.ops.cluster.job import Job

        gpus, count = _asked(folder)
        return Job(
            name=f"vllm-{folder.name}",
            arguments=("python", "vllm_worker.py", "."),
            folder=folder,
            gpus=0,
            own_gpus=_accelerators(gpus, count),
            time_limit=_HOURS * 3600,
            stall_limit=3600,
            environment=_ANYWHERE,
            retries=2,
            progress=vllm_worker.DONE,
        )


def _asked(job: Path) -> tuple[int, int]:
    """The accelerators that one replica takes for the request of a folder, and its prompts."""
    request = json.loads((job / "request.json").read_text(encoding="utf-8"))
    with (job / "prompts.jsonl").open(encoding="utf-8") as file:
        return request["gpus"], sum(1 for _ in file)


def _leased(job: Path) -> AbstractContextManager[Leased]:
    """Hold accelerators of this machine for replicas: all that are free, of one at least."""
    from pipeline.ops.cluster.gpus import leased

    gpus, prompts = _asked(job)
    most = gpus * max(1, -(-prompts // _PROMPTS_PER_REPLICA))
    return leased(gpus, most, os.environ, lambda text: print(f"engine vllm: {text}", flush=True))


def _accelerators(gpus: int, prompts: int) -> int:
    """How many accelerators of one node to ask for: those that are free, for replicas.

    Args:
        gpus: What one replica takes.
        prompts: To be completed; a replica for fewer than some is not worth its loading.
    """
    from pipeline.ops.cluster.client import configured_address, connect

    address = configured_address(os.environ)
    if address is None:
        return gpus
    free = connect(address).free_accelerators()
    fitting = max(free, default=0) // gpus
    return gpus * max(1, min(fitting, -(-prompts // _PROMPTS_PER_REPLICA)))
