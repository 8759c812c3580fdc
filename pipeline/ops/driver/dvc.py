"""DVC as this program runs it: ``dvc.lock`` is written in a fraction of the time.

DVC 3 reads and writes the whole file for each stage that it has run, with a parser in Python that
keeps comments, of which this file has none. Here the same library's parser in C does it. All else
is DVC's own.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.formats.files import write_text


def write(content: object, stream: Any) -> None:
    """Write the content of ``dvc.lock``, as DVC does."""
    from ruamel.yaml import YAML

    library: Any = YAML(typ="safe")
    library.default_flow_style = False
    library.sort_base_mapping_type_on_output = False
    library.dump(json.loads(json.dumps(content)), stream)  # of ordered sections, plain ones


@contextmanager
def modify(path: str, fs: Any = None) -> Iterator[Any]:
    """Give the content of a file of DVC's to be changed in place, and write it back.

    ``dvc.lock`` is written beside and renamed: whoever is killed meanwhile leaves no half of it.
    A file with comments, such as ``dvc.yaml``, is left to DVC.
    """
    from dvc.utils.serialize import load_yaml, modify_yaml

    file = Path(path)
    if file.name != "dvc.lock":
        with modify_yaml(path, fs) as content:
            yield content
        return
    content = (load_yaml(path) if file.exists() else None) or {}
    yield content
    text = io.StringIO()
    write(content, text)
    write_text(file, text.getvalue())


def main() -> int:
    """Run DVC's command line."""
    from dvc import dvcfile
    from dvc.cli import main as run

    dvcfile.modify_yaml = modify
    logging.getLogger("dvc.repo.scm_context").setLevel(logging.WARNING)  # no hints to `git add`
    return int(run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
