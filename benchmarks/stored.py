"""The results that README quotes, kept small in ``docs/results`` with what they were made on.

Run ``python -m benchmarks.stored STUDY`` after ``tomrl repro STUDY``: it writes verdicts, scores
and changes of the study with the commit, the processor and the libraries. ``tests/test_quoted.py``
holds the numbers of README to them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.formats.provenance import installed
from pipeline.ops.driver.checkout import find_root
from pipeline.stages.followed.circumstances import processor

LIBRARIES = ("torch", "transformers", "scikit-learn", "numpy")
ROW = ("cell", "task", "base", "trained", "change", "change_interval", "rule", "rule_name")


def stored(root: Path, study: str) -> dict[str, Any]:
    """Return what is kept of a study's results.

    Raises:
        UserError: If the study has no report in this checkout.
    """
    path = root / "reports" / study / "results.json"
    if not path.exists():
        raise UserError(f"{path} is missing; make it with: tomrl repro {study}")
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in found["rows"] if row["trained"] is not None]
    beside = [
        {"cell": row["cell"], "task": row["task"], "figure": name, **figure}
        for row in rows
        for name, figure in row["beside"].items()
    ]
    return {
        "study": study,
        **made_on(root),
        "verdicts": found["verdicts"],
        "rows": [{name: row[name] for name in ROW} for row in rows],
        "beside": beside,
        "seeds": found["over_seeds"],
    }


def made_on(root: Path) -> dict[str, Any]:
    """Return the commit, the processor and the libraries that results come from."""
    return {
        "commit": _commit(root),
        "processor": processor(),
        "libraries": dict(installed(*LIBRARIES)),
    }


def _commit(root: Path) -> str:
    asked = ("git", "rev-parse", "--short", "HEAD")
    return subprocess.run(
        asked, cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


def main() -> int:
    """Write what is kept of a study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("study")
    study, root = parser.parse_args().study, find_root()
    text = json.dumps(stored(root, study), indent=1) + "\n"
    write_output(root / "docs" / "results" / f"{study}.json", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
