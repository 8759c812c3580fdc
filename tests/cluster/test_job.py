"""What identifies a job, and what Ray is told about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipeline.ops.cluster.job import Job


def _job(folder: Path) -> Job:
    (folder / "job.json").write_text("{}")
    return Job(
        name="train tom-rl/nano",
        arguments=("python", "-m", "pipeline.train"),
        folder=folder,
        gpus=1,
        time_limit=1.0,
        stall_limit=1.0,
        environment={"TOKEN": "secret"},
    )


def test_the_same_content_is_the_same_job(tmp_path: Path) -> None:
    job = _job(tmp_path)
    again = replace(job, environment={"TOKEN": "another"}, retries=5)
    assert again.identity == job.identity
    assert job.identity.startswith("train-tom-rl-nano-")


def test_other_content_is_another_job(tmp_path: Path) -> None:
    job = _job(tmp_path)
    before = job.identity
    assert replace(job, arguments=("python", "-V")).identity != before
    assert replace(job, name="train tom-rl-nano").identity != before
    (tmp_path / "job.json").write_text("[]")
    assert job.identity != before
