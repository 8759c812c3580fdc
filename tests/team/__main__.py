"""Run a team's servers in a folder until a signal comes."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from pipeline.base.processes import raise_on_sigterm
from tests.team.servers import Ports, Team

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path)
for name in Ports._fields:
    parser.add_argument(f"--{name}-port", type=int, required=True)
given = vars(parser.parse_args())
raise_on_sigterm()
with suppress(KeyboardInterrupt):
    Team(
        given["folder"].resolve(),
        Ports(*(given[f"{name}_port"] for name in Ports._fields)),
        Path.cwd(),
    ).run()
