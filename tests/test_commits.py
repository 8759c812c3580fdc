"""A worker whose checkout is at another commit than its deployment was made from."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import pytest

from flows.commits import check_commit
from pipeline.base.errors import UserError
from pipeline.base.git import checked_out
from tests.conftest import commit

LOG = logging.getLogger("worker")


def test_one_that_moved_on_is_told_and_one_without_the_commit_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = []
    for text in ("first", "second"):
        (tmp_path / "code").write_text(text)
        commit(tmp_path)
        made.append(checked_out(tmp_path))
    first, second = made
    for same in (second, None, "", "of-a-file"):
        check_commit(tmp_path, same, LOG)
    assert not caplog.messages
    check_commit(tmp_path, first, LOG)
    assert f"moved on from commit {first[:12]}" in caplog.text and second[:12] in caplog.text
    subprocess.run(["git", "checkout", "-q", first], cwd=tmp_path, check=True)
    for other in (second, "0" * 40):
        with pytest.raises(UserError, match=f"{other[:12]}.*{first[:12]}.*`tomrl deploy`"):
            check_commit(tmp_path, other, LOG)
