"""Blocks that come from a stored study: its table, its verdicts, and changes over seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from rich.console import Console

from benchmarks.quoted.table import made_on, table, whole
from benchmarks.stored import Stored
from pipeline.analysis.answer import ONE_RUN, does
from pipeline.analysis.results import Row
from pipeline.analysis.seeds import BEST, LAST, SeedEstimate
from pipeline.analysis.steps import STEPS
from pipeline.analysis.table import notes_on, table_of
from pipeline.analysis.tables import Line
from pipeline.analysis.ways import WAYS
from pipeline.evaluate.records import PAIR_ACCURACY
from pipeline.evaluate.statistics import LEVEL
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import counted, percent
from pipeline.judge.answers import followed
from pipeline.judge.found import findable

Rows = Mapping[tuple[str, str], Line]
"""Rows of the result table by cell and task."""

_SEED = re.compile(r"-s(\d+)\b")

WIDTH = 112
"""Columns of the terminal that a page shows."""

TELLING = {
    "rule_right": "where the earliest exit is right",
    "rule_wrong": "where it is wrong",
    "pairs": "pairs",
}
"""The columns that tell belief from rule, in words."""

ARMS = {
    "warm": "imitation of true reasoning",
    "grpo": "GRPO",
    "random": "GRPO with a random reward",
    "wrong": "GRPO with a reward for wrong answers",
    "form": "GRPO with a reward for the form",
    "imitation": "imitation",
    "answers": "supervised training on answers",
    "traces": "supervised training on true reasoning",
}
"""How a cell is trained, in words, by the end of its key."""

CHIEF = (PAIR_ACCURACY, "options")
"""The figures beside accuracies that the table of a long study shows."""


# --- one run --------------------------------------------------------------------------------------


def opening(found: Stored) -> str:
    """What was run, and on what."""
    steps = "{steps} steps of {prompts} prompts x {rollouts} completions each".format_map(found)
    said = [f"`{found['study']}`", *([steps] if found["steps"] else [])]
    if found["over_seeds"]:
        said.append(counted(_seeds(found), "seed"))
    made = made_on(found["commit"], found["processor"], found["libraries"])
    return f"{'; '.join(said)}. {made}\n"


def _seeds(found: Stored) -> int:
    return int(found["over_seeds"][0]["change"]["seeds"])


def result_table(found: Stored) -> str:
    """The verdicts, and below them the result table as ``tomrl report`` prints it."""
    columns = {
        "cell": lambda each: each["cell"],
        "answers follow": lambda each: followed(each["answers"], each["by"]),
        "explained": lambda each: f"{whole(each['explained'])} %",
        "the same where that is wrong": lambda each: _share(each["copied"]),
        "could be found": lambda each: findable(each["found"]),
        "true": lambda each: _share(each["true"]),
        "used": lambda each: _share(each["used"]),
        "reasoning is": lambda each: each["reasoning"],
    }
    return f"{table(columns, found['verdicts'])}\n{printed_table(found)}"


def _share(found: Line | None) -> str:
    return "-" if found is None else f"{percent(found['value'])} %"


def printed_table(found: Stored, beside: Sequence[str] | None = None) -> str:
    """The result table as ``tomrl report`` prints it.

    Args:
        found: The results.
        beside: Figures beside the accuracies to show; all if absent.
    """
    rows = [
        Row.model_validate(
            {**row, "beside": {k: v for k, v in row["beside"].items() if not beside or k in beside}}
        )
        for row in found["rows"]
    ]
    screen = StringIO()
    console = Console(file=screen, width=WIDTH, color_system=None, force_terminal=False)
    console.print(table_of(found["title"], rows, notes_on(rows)))
    shown = "\n".join(line.rstrip() for line in screen.getvalue().splitlines())
    return f"```\n{shown}\n```\n"


def first_screen(found: Stored) -> str:
    """Accuracy and verdict of each cell of one run, before training and after it."""
    rows = _rows(found)
    base, *trained = found["verdicts"]
    heads = ("trained on", *list(TELLING.values())[:2], "both of a pair")
    before = _line(rows, base, trained[0]["cell"], "base")
    lines = [before, *(_line(rows, each, each["cell"], "trained") for each in trained)]
    said = " ".join(
        f"Trained on `{e['combination']}`, the model {does(e['answers'], e['by'], e['explained'])}."
        for e in trained
    )
    return (
        "Accuracy in %, before training and after it:\n\n"
        f"{markdown_table((*heads, 'answers follow', 'reasoning is'), lines)}\n"
        f"{said} {ONE_RUN}\n"
    )


def training_sets(found: Stored) -> str:
    """What rules and simpler minds score on training sets, in %."""
    sets = found["training"]
    figures = {
        "questions": lambda each: f"{each['rows']:,}",
        "boosted trees": lambda each: percent(each["learned"]["accuracy"]),
        "list of rules": lambda each: percent(each["learned"]["readable_accuracy"]),
        "best listed rule": lambda each: (
            f"{percent(each['rule']['accuracy'])} {each['rule']['rule']}"
        ),
    }
    lines = [(name, *map(of, sets.values())) for name, of in figures.items()]
    for mind in next(iter(sets.values()))["minds"]:
        lines.append((mind, *(percent(each["minds"][mind]) for each in sets.values())))
    return markdown_table(("in %", *(f"`{key}`" for key in sets)), lines, range(1, len(sets) + 1))


def what_pays(found: Stored) -> str:
    """What scores on training sets, and what learned rules score on columns against them."""
    columns = {
        "columns": lambda each: each[0],
        "boosted trees": lambda each: percent(each[1]["accuracy"]),
        "list of rules": lambda each: percent(each[1]["readable_accuracy"]),
        "both sides of a pair": lambda each: percent(each[1]["pairs"]),
    }
    return f"{training_sets(found)}\n{table(columns, found['columns'].items())}"


# --- over seeds -----------------------------------------------------------------------------------


def seed_by_seed(found: Stored) -> str:
    """Accuracy and verdict of every cell of every seed, and one set less the other over seeds.

    Controls, whose reward is drawn by a coin, are left out.
    """
    rows, verdicts = _rows(found), found["verdicts"]
    bases = {_seed_of(e["cell"]): e for e in verdicts if not e["combination"]}
    trained = [e for e in verdicts if e["combination"] and "-random-" not in e["cell"]]

    def line(each: Line, cell: str, when: str) -> tuple[str, ...]:
        trained_on, *texts = _line(rows, each, cell, when)
        return (trained_on, _seed_of(cell), *texts)

    first = {_seed_of(each["cell"]): each["cell"] for each in reversed(trained)}
    lines = [line(base, first[seed], "base") for seed, base in bases.items()]
    lines += [line(each, each["cell"], "trained") for each in trained]
    sets = list(dict.fromkeys(map(_set_of, trained)))
    one, other = (
        [_telling(rows, e["cell"], "trained") for e in trained if _set_of(e) == name]
        for name in reversed(sets)
    )
    texts = _less(*(list(zip(*side, strict=True)) for side in (one, other)))
    heads = ("trained on", "seed", *TELLING.values(), "answers follow", "reasoning is")
    shown = ", ".join(f"{of} {text}" for of, text in zip(TELLING.values(), texts, strict=True))
    return (
        "Accuracy in %, before training and after it; of pairs, both are right:\n\n"
        f"{markdown_table(heads, lines, range(1, 5))}\n"
        f"{sets[-1]} less {sets[0]}, in points, means over {len(bases)} seeds, 95 % intervals: "
        f"{shown}.\n"
    )


def _rows(found: Stored) -> Rows:
    return {(row["cell"], row["task"]): row for row in found["rows"]}


def _line(rows: Rows, each: Line, cell: str, when: str) -> tuple[str, ...]:
    """The figures of a cell, before or after training, and what its answers follow."""
    figures = (percent(value) for value in _telling(rows, cell, when))
    return (_set_of(each), *figures, followed(each["answers"], each["by"]), each["reasoning"])


def _set_of(each: Line) -> str:
    """What a cell is trained on, whatever its seed."""
    return f"`{_SEED.sub('', each['combination'])}`" if each["combination"] else "-"


def _seed_of(cell: str) -> str:
    return str(_SEED.findall(cell)[0])


def _telling(rows: Rows, cell: str, when: str) -> list[float]:
    """What tells belief from rule, before or after training; of pairs, that both are right."""
    figures = [rows[cell, "rule_right"], rows[cell, "rule_wrong"]]
    figures.append(rows[cell, "pairs"]["beside"][PAIR_ACCURACY])
    return [figure[when] for figure in figures]


def changes(found: Stored) -> str:
    """What each training changes in the columns that tell belief from rule."""
    scores = {who["who"]: who["columns"] for who in found["standings"]}
    lines, model = [], {each["model"] for each in found["verdicts"]}
    for group, measures in _by_group(found).items():
        combination, arm = _trained(group)
        texts = (
            f"{percent(scores[group][name]['mean'])} %"
            if arm == "warm"
            else SeedEstimate(**measures[name]["change"]).points()
            for name in TELLING
        )
        lines.append((f"`{combination}`", ARMS[arm], *texts))
    warm = "; of a warm start, its accuracy" if any(ARMS["warm"] in line for line in lines) else ""
    return (
        f"What each training changes, in points{warm}: means over "
        f"{_seeds(found)} seeds and 95 % intervals; `{found['study']}`, "
        f"{', '.join(sorted(model))}.\n\n"
        f"{markdown_table(('trained on', 'by', *TELLING.values()), lines)}"
    )


def differences(found: Stored) -> str:
    """Changes by rewards less those by a coin, and on one set less the other, seed by seed."""
    steps = {_trained(group): _steps(found, group) for group in _by_group(found)}
    pairs = [(one, (one[0], "random")) for one in steps if one[1] in ("grpo", "wrong", "form")] + [
        (("cued", "grpo"), ("balanced", "grpo"))
    ]
    lines = (
        (f"{_called(one)} less {_called(other)}", *_less(steps[one], steps[other]))
        for one, other in pairs
        if one in steps and other in steps
    )
    return markdown_table(("difference, seed by seed", *TELLING.values()), lines)


def _less(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Iterator[str]:
    for mine, theirs in zip(one, other, strict=True):
        yield SeedEstimate.of([a - b for a, b in zip(mine, theirs, strict=True)]).points()


def _by_group(found: Stored) -> dict[str, dict[str, Line]]:
    """The changes by group of cells and measure."""
    groups: dict[str, dict[str, Line]] = {}
    for each in found["over_seeds"]:
        groups.setdefault(each["group"], {})[each["measure"]] = each
    return groups


def _trained(group: str) -> tuple[str, str]:
    """What the cells of a group are trained on, and how."""
    _, combination, *_, arm = group.split("-")
    return combination, arm


def _called(trained: tuple[str, str]) -> str:
    return f"{ARMS[trained[1]]} on `{trained[0]}`"


def _steps(found: Stored, group: str) -> list[list[float]]:
    """What each seed changed in each telling column; of a chain, since the cell before."""
    if "chained" not in found:
        measured = [_by_group(found)[group][column] for column in TELLING]
        return [
            [after - before for before, after in zip(each["befores"], each["afters"], strict=True)]
            for each in measured
        ]
    return [
        [
            step["after"] - step["before"]
            for step in found["chained"]
            if (_SEED.sub("", step["cell"]), step["task"]) == (group, column)
        ]
        for column in TELLING
    ]


def test_time(found: Stored) -> str:
    """What prompt programs and trainings get right; profiles are in the report."""
    rows = (WAYS.texts(line)[:-1] for line in found["test_time"])
    return markdown_table(WAYS.headings[:-1], rows, WAYS.numbers)


def by_chance(found: Stored) -> str:
    """How many intervals exclude no change, and how many would by chance."""
    columns = [each for each in found["over_seeds"] if each["measure"] not in (BEST, LAST)]
    coin = [each for each in columns if _trained(each["group"])[1] == "random"]
    sure, of_coin = (
        sum(each["change"]["low"] > 0 or each["change"]["high"] < 0 for each in of)
        for of in (columns, coin)
    )
    return (
        f"Of all {len(columns)} changes of columns, {sure} have an interval on one side of zero; "
        f"if nothing changed, {(1 - LEVEL) * len(columns):.1f} would by chance. Of the {len(coin)} "
        f"after a random reward it is {of_coin}; {(1 - LEVEL) * len(coin):.1f} would by chance.\n"
    )


def steps(found: Stored) -> str:
    """What each training changed, column by column, beside all of them together."""
    return STEPS.markdown(found["chained"])
