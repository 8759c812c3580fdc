"""Scores options with lm-evaluation-harness itself, as its ``multiple_choice`` does.

``python multiple_choice.py PACKAGES MODEL QUESTIONS`` prints as JSON what it finds. PACKAGES are
those of ``.venv-export``, which has the harness but no torch; MODEL is a folder; QUESTIONS are JSON
lines.
"""

from __future__ import annotations

import json
import sys


def main(model: str, questions: str) -> None:
    """Score the questions of a file."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM

    task = {
        "task": "options",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": questions}, "cache_dir": f"{questions}-cache"},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "context",
        "doc_to_choice": "choices",
        "doc_to_target": "answer",
        "target_delimiter": "",
    }
    engine = HFLM(pretrained=model, device="cpu", dtype="float32", batch_size=4)
    found = simple_evaluate(engine, tasks=[task], bootstrap_iters=0)
    samples = sorted(found["samples"]["options"], key=lambda each: each["doc_id"])
    scores = found["results"]["options"]
    logprobs = [[float(each[0]) for each in sample["filtered_resps"]] for sample in samples]
    seen = {"acc": scores["acc,none"], "acc_norm": scores["acc_norm,none"], "logprobs": logprobs}
    print(json.dumps(seen))


if __name__ == "__main__":
    sys.path.append(sys.argv[1])  # after those of the interpreter, whose versions are the project's
    main(*sys.argv[2:])
