"""Opens exports with the tools that they are for; run by the interpreter of ``.venv-export``.

``python opened.py FOLDER`` prints as JSON what the tool sees.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def inspect(folder: str) -> Any:
    """The logs of a folder as inspect-ai reads them, and the rows of its data frames."""
    from inspect_ai.analysis import evals_df, samples_df
    from inspect_ai.log import list_eval_logs, read_eval_log

    logs = [read_eval_log(info) for info in list_eval_logs(folder)]
    return {
        "logs": [
            {
                "model": log.eval.model,
                "task": log.eval.task,
                "status": log.status,
                "accuracy": log.results.scores[0].metrics["accuracy"].value,
                "right": [s.scores["published"].as_str() == "C" for s in log.samples],
                "said": [s.output.completion for s in log.samples],
                "asked": [s.input[-1].text for s in log.samples],
                "stopped": sorted({s.output.stop_reason for s in log.samples}),
            }
            for log in logs
        ],
        "evals": len(evals_df(folder, quiet=True)),
        "samples": len(samples_df(folder, quiet=True)),
    }


if __name__ == "__main__":
    print(json.dumps(inspect(sys.argv[1])))
