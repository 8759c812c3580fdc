"""The evaluation with vLLM as a job: Ray gives it a node and accelerators of that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.formats.files import write_json, write_lines
from pipeline.ops.cluster.client import Client
from pipeline.ops.vllm.engine import OnCluster
from tests.alive import until
from tests.cluster.conftest import GPUS


@pytest.mark.parametrize(
    ("prompts", "gpus", "taken"), [(10, 1, 1), (10_000, 1, GPUS), (10, 2, 2), (10, 4, 4)]
)
def test_a_job_takes_what_its_replicas_need(
    cluster: Client, tmp_path: Path, prompts: int, gpus: int, taken: int
) -> None:
    assert until(lambda: cluster.free_accelerators() == [GPUS])  # of the jobs of other tests
    write_json(tmp_path / "request.json", {"gpus": gpus})
    write_lines(tmp_path / "prompts.jsonl", [{"index": index} for index in range(prompts)])
    job = OnCluster().job(tmp_path)
    assert (job.own_gpus, job.own_cpus) == (taken, 0)


def test_it_runs_where_they_are(cluster: Client, tmp_path: Path) -> None:
    """A head may have none: what takes none of its own runs there."""
    command = ("python", "-c", 'import os; print(os.environ["CUDA_VISIBLE_DEVICES"])')
    write_json(tmp_path / "request.json", {"gpus": 1})
    write_lines(tmp_path / "prompts.jsonl", [{"index": 0}])
    cluster.submit(replace(OnCluster().job(tmp_path), arguments=command), "devices")
    assert until(lambda: cluster.get_job_status("devices") == "SUCCEEDED")
    assert cluster.get_job_logs("devices").split()[-1] in ("0", "1")
