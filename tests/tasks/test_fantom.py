"""FANToM: a small hand-written archive in the full schema, the rules, and the derived gold."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.config.sources import FantomSource
from pipeline.data.generated import stories
from pipeline.formats.files import write_lines
from pipeline.tasks import fantom_rules as rules
from pipeline.tasks.example import Example
from pipeline.tasks.fantom_archive import load
from pipeline.tasks.registry import get
from pipeline.tasks.scores import macro_f1, token_f1, weighted_f1

SHORT = "Ann: I must go.\nBob: My dog is called Rex.\nCyd: Nice."
FULL = f"Dan: Hello all.\nDan: Bye!\n{SHORT}\nAnn: I am back."


def belief(who: str, order: str, right: str, wrong: str, scenario: str) -> dict[str, str]:
    return {
        "question": f"What does {who} believe about the name of Bob's dog?",
        "question_type": f"tom:belief:{scenario}",
        "correct_answer": right,
        "wrong_answer": wrong,
        "missed_info_accessibility": scenario,
        "tom_type": order,
    }


def about(kind: str, scenario: str, golds: dict[str, str]) -> dict[str, Any]:
    """The list question and the yes/no questions of one kind."""
    words = "the precise correct answer to this question" if kind == "answerability" else "this"
    shared = {"missed_info_accessibility": scenario}
    return {
        "list": {
            "question": f"List all the characters who know {words}.",
            "question_type": f"tom:{kind}:list",
            "correct_answer": [name for name, gold in golds.items() if gold == "yes"],
            "wrong_answer": [name for name, gold in golds.items() if gold == "no"],
            **shared,
        },
        "binary": [
            {
                "question": f"Does {name} know {words}?",
                "question_type": f"tom:{kind}:binary",
                "correct_answer": gold,
                **shared,
            }
            for name, gold in golds.items()
        ],
    }


def one_set(set_id: str, scenario: str, golds: dict[str, str]) -> dict[str, Any]:
    unaware = "Ann does not know the name of Bob's dog."
    knows = "Ann believes that the dog is called Rex."
    right, wrong = (unaware, knows) if scenario == "inaccessible" else (knows, unaware)
    answerability = about("answerability", scenario, golds)
    information = about("info_accessibility", scenario, golds)
    return {
        "set_id": set_id,
        "short_context": SHORT + "\n",
        "full_context": FULL,
        "factQA": {
            "question": "What is Bob's dog called?",
            "question_type": "fact",
            "correct_answer": "Bob's dog is called Rex.",
        },
        "beliefQAs": [
            belief("Ann", "first-order", right, wrong, scenario),
            belief("Cyd", "second-order:cyclic", f"Cyd: {right}", f"Cyd: {wrong}", scenario),
        ],
        "answerabilityQA_list": answerability["list"],
        "answerabilityQAs_binary": answerability["binary"],
        "infoAccessibilityQA_list": information["list"],
        "infoAccessibilityQAs_binary": information["binary"],
    }


SETS = [
    one_set("0-0-0", "inaccessible", {"Ann": "no", "Bob": "yes", "Cyd": "yes", "Dan": "no:long"}),
    one_set("0-1-0", "accessible", {"Ann": "yes", "Bob": "yes", "Cyd": "yes", "Dan": "no:long"}),
]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write(tmp_path, SETS)


def write(folder: Path, sets: object) -> Path:
    path = folder / "fantom_archive" / "fantom_v1.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(sets), "utf-8")
    return folder


def test_archive_is_flattened(raw: Path) -> None:
    short, full = list(load(raw, "t", "short")), list(load(raw, "t", "full"))
    assert len(short) == 2 * (1 + 4 + 2 + 6)
    assert len(full) == 2 * (1 + 4 + 2 + 8)
    assert {ex.story for ex in short} == {SHORT}
    assert {ex.story for ex in full} == {FULL}
    assert [ex.question_type for ex in short[:7]] == [
        "fact",
        "tom:belief:inaccessible",
        "tom:belief:inaccessible:multiple-choice",
        "tom:belief:inaccessible",
        "tom:belief:inaccessible:multiple-choice",
        "tom:answerability:list",
        "tom:answerability:binary",
    ]
    assert short[5].answer == "Bob, Cyd" and short[5].meta["wrong_names"] == ["Ann"]
    assert short[5].question.startswith("Target: What is Bob's dog called?\nQuestion: List all")
    assert "Information: What is Bob's dog called? Bob's dog is called Rex." in short[9].question
    assert [ex.order for ex in short[:5]] == [0, 1, 1, 2, 2]


def test_options_are_drawn_as_upstream_draws_them(raw: Path) -> None:
    choices = [ex for ex in load(raw, "t", "short") if ex.choices]
    # random.seed(99), then one choice([True, False]) per belief: is the right one last?
    assert [ex.answer[:3] for ex in choices] == ["(a)", "(a)", "(b)", "(b)"]
    for example in choices:
        assert example.choices is not None and example.answer in example.choices
        assert all(choice in example.question for choice in example.choices)


def test_long_absentees_count_in_the_full_context_only(raw: Path) -> None:
    def scenarios(context: str) -> Counter[tuple[str, str]]:
        found = (ex for ex in load(raw, "t", context) if ex.answer_kind == "yes_no")
        return Counter((ex.meta["set_id"], ex.meta["accessibility"]) for ex in found)

    assert scenarios("short") == {("0-0-0", "inaccessible"): 6, ("0-1-0", "accessible"): 6}
    assert scenarios("full") == {("0-0-0", "inaccessible"): 8, ("0-1-0", "inaccessible"): 8}
    lists = [ex for ex in load(raw, "t", "full") if ex.answer_kind == "names"]
    assert [ex.meta["accessibility"] for ex in lists] == ["inaccessible"] * 2 + ["accessible"] * 2


@pytest.mark.parametrize(
    "task", ["fantom_v1", "fantom_v1_full", "fantom_v1_list", "fantom_v1_yes_no"]
)
def test_gold_is_right_and_its_contrary_wrong(raw: Path, task: str) -> None:
    examples = get(task).examples(raw)
    assert examples
    for ex in examples:
        grade = get(task).grade(f"Hm.</think><answer>{ex.answer}</answer>", ex)
        assert grade.correct and grade.strict and grade.format_ok, ex
        contrary = {"yes": "no", "no": "yes"}.get(ex.answer) or ex.meta.get("wrong_answer")
        if ex.choices:
            contrary = next(choice for choice in ex.choices if choice != ex.answer)
        assert not get(task).grade(f"<answer>{contrary or 'Ann'}</answer>", ex).correct, ex


def test_set_scores(raw: Path) -> None:
    examples = list(load(raw, "t", "short"))
    perfect = rules.scores([(ex, ex.answer) for ex in examples])
    assert set(perfect.values()) == {1.0}
    assert {"inaccessible:set:ALL*", "accessible:set:ALL", "fact_word-f1"} <= set(perfect)
    assert f"inaccessible:belief:{rules.belief_rule()}" in perfect

    spoiled = [
        (ex, None if rules.kind(ex) == "free" and ex.meta["set_id"] == "0-0-0" else ex.answer)
        for ex in examples
    ]
    report = rules.scores(spoiled)
    assert (report["inaccessible:set:ALL*"], report["inaccessible:set:ALL"]) == (0.0, 1.0)
    assert (report["accessible:set:ALL*"], report["accessible:set:ALL"]) == (1.0, 1.0)

    one_wrong = [(ex, "yes" if ex.answer == "no" else ex.answer) for ex in examples]
    report = rules.scores(one_wrong)
    assert report["inaccessible:set:ALL"] == report["inaccessible:answerability:set:ALL"] == 0.0
    assert report["inaccessible:answerability:list"] == 1.0
    # Truths no, yes, yes and answers yes, yes, yes: F1 0 and 0.8, weighted by 1 and 2.
    assert report["inaccessible:answerability:binary-f1"] == pytest.approx(0.8 * 2 / 3)
    assert rules.scores([]) == {}


def test_f1_is_the_one_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truths, answers = [0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 1, -1, 0, 2]
    for name, mine in (("macro", macro_f1), ("weighted", weighted_f1)):
        expected = metrics.f1_score(truths, answers, average=name, zero_division=0)
        assert mine(truths, answers) == pytest.approx(expected)


def test_token_f1() -> None:
    assert token_f1("a b c", "a b d") == pytest.approx(2 / 3)
    assert token_f1("a", "") == token_f1("a", "b") == 0.0
    assert token_f1("a a", "a") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Yes", 1),
        ("true, he does", 1),
        ("Well, yes.", 1),
        ("Well, yes, he does", 1),
        ("Ann knows it", 1),
        ("no", 0),
        ("Ann doesn't know it", 0),
        ("'No'", 0),
        ("yes and no", 1),
        ("nobody", 0),
        ("maybe", -1),
        ("", -1),
    ],
)
def test_reading_yes_and_no(answer: str, value: int) -> None:
    assert rules.read_yes_no(answer) == value


@pytest.mark.parametrize(
    ("answer", "right", "strict"),
    [
        ("(b)", True, True),
        ("b", True, True),
        ("B.", True, True),
        ("b) because", True, False),
        ("The answer is (b).", True, False),
        ("both (a) and (b)", True, False),
        ("(b) two", True, True),
        ("two", True, True),
        ("**(B)** Two.", True, True),
        ("(a) two", False, False),
        ("(a)", False, False),
        ("because", False, False),
    ],
)
def test_letters(answer: str, right: bool, strict: bool) -> None:
    example = Example(
        *("fantom", "t", "s", "q", "(b) two"), answer_kind="choice", choices=("(a) one", "(b) two")
    )
    assert rules.match(answer, example) is right
    assert rules.strict(answer, example) is strict


@pytest.mark.parametrize(
    ("answer", "right", "strict"),
    [
        ("Bob, Cyd", True, True),
        ("cyd and bob.", True, True),
        ("Bob\nCyd", True, True),
        ("Bob and Cyd know it", True, False),
        ("Bob, Cyd, Dan", True, False),
        ("Bob", False, False),
        ("Bob, Cyd, Ann", False, False),
        ("", False, False),
    ],
)
def test_names(answer: str, right: bool, strict: bool) -> None:
    meta = {"wrong_names": ["Ann"]}
    example = Example(*("fantom", "t", "s", "q", "Bob, Cyd"), answer_kind="names", meta=meta)
    assert rules.match(answer, example) is right
    assert rules.strict(answer, example) is strict


def test_a_name_inside_another() -> None:
    meta = {"wrong_names": ["Erik"]}
    example = Example(*("fantom", "t", "s", "q", "Erika"), answer_kind="names", meta=meta)
    assert rules.match("Erika", example)
    assert not rules.match("Erika, Erik", example)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["beliefQAs"][1].pop("wrong_answer"), r"beliefQAs\[1\]: field 'wrong_answer'"),
        (lambda s: s["beliefQAs"][0].update(tom_type="third"), "names no order"),
        (lambda s: s["answerabilityQA_list"].update(correct_answer=[1]), "not a list of texts"),
        (
            lambda s: s["infoAccessibilityQAs_binary"][0].update(correct_answer="perhaps"),
            "'perhaps', not one of yes, no, no:long",
        ),
    ],
    ids=range(4),
)
def test_malformed_archive(tmp_path: Path, change: Any, message: str) -> None:
    sets = json.loads(json.dumps(SETS))
    change(sets[0])
    with pytest.raises(UserError, match=message):
        list(load(write(tmp_path, sets), "t", "short"))


def test_repeated_set(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="record 2: field 'set_id' repeats '0-0-0' of .*record 1"):
        list(load(write(tmp_path, [SETS[0], SETS[0]]), "t", "short"))


def test_gold_is_the_original_archives_where_that_is_there(tmp_path: Path) -> None:
    write(tmp_path, SETS)
    (tmp_path / "percept_fantom").mkdir()
    yes_no, lists = get("fantom_yes_no").examples(tmp_path), get("fantom_list").examples(tmp_path)
    assert yes_no and {ex.answer_kind for ex in yes_no} == {"yes_no"}
    assert lists and {ex.answer_kind for ex in lists} == {"names"}
    assert {ex.meta["gold_source"] for ex in yes_no + lists} == {"original"}


def test_gold_is_generated_where_no_other_is_there(tmp_path: Path) -> None:
    source = FantomSource(kind="fantom_style")
    for split in ("train", "validation", "test"):
        rows = (row for made in stories(source, split, 5) for row in made)
        write_lines(tmp_path / "fantom_style" / f"{split}.jsonl", rows)
    task = get("fantom_yes_no")
    examples = task.examples(tmp_path)
    assert {ex.meta["gold_source"] for ex in examples} == {"generated"}
    assert {ex.meta["accessibility"] for ex in examples} == {"accessible", "inaccessible"}
    found = [(ex, ex.answer) for ex in examples]
    assert rules.scores(found)["inaccessible:set:ALL"] == 1.0


def test_gold_from_nowhere_names_the_sources(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="acquire the source 'percept_fantom' first, or"):
        get("fantom_yes_no").examples(tmp_path)


def test_contexts_of_one_conversation_are_one_story(mirror: Path) -> None:
    short, full = (get(name).examples(mirror) for name in ("fantom_belief", "fantom_belief_full"))
    stories = {ex.meta["set_id"].split("-")[0]: ex.story_id for ex in short}
    assert len(set(stories.values())) == len(stories) == 253
    assert all(stories[ex.meta["set_id"].split("-")[0]] == ex.story_id for ex in full)


def test_derived_gold(mirror: Path) -> None:
    lists = get("fantom_list").examples(mirror)
    binary = get("fantom_yes_no").examples(mirror)
    assert {ex.meta["gold_source"] for ex in lists + binary} == {"derived"}
    assert (len(lists), len(binary)) == (537, 1718)
    assert Counter(ex.answer for ex in binary) == {"yes": 1333, "no": 385}
    by_set = {ex.meta["set_id"]: ex for ex in lists}
    for ex in binary:
        name = ex.question.split("Does ")[-1].split(" know")[0]
        assert (name in by_set[ex.meta["set_id"]].answer.split(", ")) == (ex.answer == "yes")


def test_the_one_who_missed_it_is_whom_the_belief_questions_are_about(mirror: Path) -> None:
    missed = {
        ex.meta["set_id"]: ex.meta["wrong_names"] for ex in get("fantom_list").examples(mirror)
    }
    beliefs = get("fantom_belief_free").examples(mirror)
    inaccessible = [
        ex
        for ex in beliefs
        if ex.meta["accessibility"] == "inaccessible" and ex.meta["set_id"] in missed
    ]
    assert len(inaccessible) > 500
    named = [missed[ex.meta["set_id"]][0] in ex.question + ex.answer for ex in inaccessible]
    # The rest spell a name in another way than the annotations do.
    assert sum(named) / len(named) > 0.99


def test_belief_options_are_balanced(mirror: Path) -> None:
    letters = Counter(ex.answer[:3] for ex in get("fantom_belief").examples(mirror))
    assert letters.total() == 1540
    assert min(letters.values()) > 700
