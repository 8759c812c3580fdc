"""llama.cpp's server of a GGUF file: ``python -m tests.engines.llama_server FILE PORT``."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Serve until the process is killed."""
    from xllamacpp import CommonParams, Server  # type: ignore[import-untyped]

    settings = CommonParams()
    settings.model.path, settings.port = sys.argv[1], int(sys.argv[2])
    settings.n_parallel, settings.cpuparams.n_threads = 1, 1
    server = Server(settings)
    signal.pause()
    del server


if __name__ == "__main__":
    main()
