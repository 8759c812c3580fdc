"""The servers that a team shares, without Docker: PostgreSQL, S3, MLflow, Prefect and a worker.

Run it in a checkout: `.venv/bin/python scripts/team_servers.py FOLDER`. It keeps everything in
FOLDER, starts again what ends, and stops all with Ctrl-C. FOLDER/secrets.env is made at the first
start, or written before like docker/example.env; users of the servers source FOLDER/client.env.

PostgreSQL is the one of this machine (scripts/setup_postgres.sh installs it). S3 is what --s3
names; without it, moto's server: an emulator that forgets everything when it ends.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flows.team.team import Ports, Team
from pipeline.base.errors import UserError
from pipeline.base.processes import raise_on_sigterm


def main() -> int:
    """Read the command line and run the servers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where everything is kept")
    parser.add_argument("--s3", help="address of a server of the S3 API; moto's emulator without")
    ports = Ports()
    for name in vars(ports):
        parser.add_argument(f"--{name}-port", type=int, default=getattr(ports, name))
    given = vars(parser.parse_args())
    chosen = Ports(**{name: given[f"{name}_port"] for name in vars(ports)})
    raise_on_sigterm()
    try:
        Team(given["folder"].resolve(), chosen, given["s3"], Path.cwd()).run()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
