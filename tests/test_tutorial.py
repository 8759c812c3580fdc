"""docs/tutorial.md, typed as it stands; only `mini` is smaller."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import PROJECT, copy_checkout, ended_well
from tests.pages import blocks

pytestmark = pytest.mark.chain

SMALLER = (
    (r"^    test: 200$", "    test: 8"),
    (r"^( +)(train|test): 18000$", r"\1\2: 200"),
    (r"^( +)validation: 3000$", r"\1validation: 60"),
    (r"^( +)pairs: 1600$", r"\1pairs: 20"),
    (r"limit: \d+", "limit: 8"),
    (r"hard: true, ", ""),
    (r"^  steps: \d+$", "  steps: 2"),
    (r"^  (prompts_per_step|rollouts): 16$", r"  \1: 2"),
    (r"^  tried: 120 .*$", "  tried: 4"),
    (r"combinations: \[cued, balanced\]", "combinations: [cued]"),
)


def _changed(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        assert count, pattern
    path.write_text(text, encoding="utf-8")


def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "a clone")
    _changed(checkout / "studies" / "mini.yaml", *SMALLER)
    written = blocks(PROJECT / "docs" / "tutorial.md")
    reward, name = (code for language, code in written if language == "python")
    (checkout / "pipeline" / "reward" / "brief.py").write_text(reward, encoding="utf-8")
    start = r"(REWARDS: .*\n    \{\n)"
    _changed(checkout / "pipeline" / "base" / "plugins.py", (start, rf"\1{name}"))

    text = "\0".join(code for language, code in written if not language)
    assert "steps: 20" in text
    said = []
    for command in text.replace("steps: 20", "steps: 2").split("\0"):
        done = ended_well(checkout, "bash", "-ec", command, PYTHONPATH=str(checkout))
        said.append(done.stdout)
    verdict, trained, scored, _, brief = said
    assert "answers follow  rule (last mention)" in verdict
    assert "nano-cued" in trained
    assert re.findall(r'"score": (-?[\d.]+)', scored) == ["0.95", "-0.04"]
    assert "nano-cued-brief" in brief
