"""Write the blocks of all pages anew from ``docs/results``; say which pages changed."""

from __future__ import annotations

import argparse
import sys

from benchmarks.quoted.pages import write_pages
from pipeline.ops.driver.checkout import find_root


def main() -> int:
    """Write the pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quoted", description=__doc__)
    parser.parse_args()
    for page in write_pages(find_root()):
        print(f"written: {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
