"""Opens exports with the tools that they are for; run by the interpreter of ``.venv-export``.

``python opened.py inspect|lm-eval FOLDER`` prints as JSON what the tool sees.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
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


def lm_eval(folder: str) -> Any:
    """The files of a folder as lm_eval finds them, checks them and prints them."""
    from datasets import load_dataset
    from lm_eval import utils
    from lm_eval.result_schema import SampleResult
    from pydantic import TypeAdapter

    files = [str(path) for path in Path(folder).rglob("*") if path.is_file()]
    samples = utils.get_sample_results_filenames(files)
    rows = {}
    for path in samples:
        lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
        TypeAdapter(list[SampleResult]).validate_python(lines, strict=True)
        rows[utils.get_file_task_name(Path(path).name)] = len(lines)
    results = json.loads(
        Path(utils.get_latest_filename(utils.get_results_filenames(files))).read_text()
    )
    loaded = load_dataset("json", data_files=samples, split="train", cache_dir=f"{folder}/../cache")
    return {"rows": rows, "table": utils.make_table(results), "loaded": len(loaded)}


if __name__ == "__main__":
    print(json.dumps({"inspect": inspect, "lm-eval": lm_eval}[sys.argv[1]](sys.argv[2])))
