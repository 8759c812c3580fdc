"""How many responses a second each reward preset scores on one core, text to reward.

The responses are those of training: reasoning of one to eight true or false statements about a
Hi-ToM-style story, three quarters with the right format. Run
``python -m benchmarks.reward``.
"""

from __future__ import annotations

from random import Random
from statistics import median
from time import process_time

from pipeline.base.plugins import REWARDS
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.tasks.example import Example

TARGET = 30_000  # responses a second, of presets that read the answer alone
ROLLOUTS = 16
Case = tuple[str, Example]


def cases(prompts: int) -> list[Case]:
    """Responses with their examples, those of a prompt side by side."""
    random = Random(0)
    source = HiTomSource(kind="hi_tom_style", agents=3, small_names=True)
    found: list[Case] = []
    for told in stories(source, "benchmark", prompts):
        row = random.choice(told)
        example = Example(
            "hi_tom_style", "hi_tom_style_train", row["story"], row["question"], row["answer"]
        )
        found += [(response(told, row["choices"], random), example) for _ in range(ROLLOUTS)]
    return found


def response(told: list[dict[str, str]], choices: list[str], random: Random) -> str:
    """One response: traces of some questions, and an answer."""
    traces = " ".join(random.choice(told)["trace"] for _ in range(random.randint(1, 4)))
    answer = random.choice(choices)
    end = random.choice(["</think>"] * 3 + [""])
    return f" {traces}{end}<answer> {answer}</answer>"


def rate(preset: str, scored: list[Case]) -> float:
    """Score all cases; return responses per CPU second."""
    chosen = load_preset(preset)
    start = process_time()
    for text, example in scored:
        safe_reward(chosen, text, example)
    return len(scored) / (process_time() - start)


def main() -> None:
    """Measure each preset several times and print the median and the spread."""
    scored = cases(600)
    print(f"{len(scored)} responses, responses per second of one core, target {TARGET:,}")
    for preset in REWARDS:
        rates = [rate(preset, scored) for _ in range(5)]
        print(f"{preset:12} {median(rates):>9,.0f}  ({min(rates):,.0f} to {max(rates):,.0f})")


if __name__ == "__main__":
    main()
