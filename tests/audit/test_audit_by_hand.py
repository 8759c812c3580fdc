"""What the audit counts, on sets so small that every figure can be told by looking at them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from math import log
from random import Random
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pipeline.audit.balance import balance
from pipeline.audit.cheats import CHEATS, Constants, won_without_answer
from pipeline.audit.contamination import NGRAM, Fingerprints, refuse_contamination
from pipeline.audit.figures import answer_balance, rules_by_order
from pipeline.audit.lexical import lexical_dependence
from pipeline.audit.records import Audit, ColumnAudit
from pipeline.audit.sets import kinds_about_minds, set_audit
from pipeline.audit.statistics import dependence, entropy, evenness
from pipeline.base.errors import UserError
from pipeline.rules.learned import LEARNED
from pipeline.rules.reading import Reading, read_all
from pipeline.tasks.example import Example

HALL = "Ann and Bob entered the hall.\nThe hat is in the box.\nAnn moved the hat to the jar."
DEN = "Eve and Dan entered the den.\nThe pen is in the bin.\nEve moved the pen to the tin."


def row(story: str, question: str = "Where?", answer: str = "jar", **fields: object) -> Example:
    told = {"story": story, "question": question, "answer": answer}
    return Example(**{"benchmark": "b", "task": "hi_tom", **told, **fields})  # type: ignore[arg-type]


def test_entropy_and_evenness() -> None:
    assert entropy([2, 1, 1, 0]) == pytest.approx(1.5 * log(2))
    assert evenness([2, 1, 1, 0]) == pytest.approx(1.5 * log(2) / log(3))
    assert evenness([2, 1]) == pytest.approx(entropy([2, 1]) / log(2)) != evenness([3, 1])
    assert evenness([7]) == evenness([7, 0]) == evenness([]) == 0


COUNTS = some.dictionaries(
    some.tuples(some.integers(0, 3), some.integers(0, 3)), some.integers(0, 30)
)


@given(COUNTS)
def test_dependence_is_mutual_information_without_its_bias(
    joint: dict[tuple[int, int], int],
) -> None:
    table = {pair: count for pair, count in joint.items() if count}
    total = sum(table.values())
    z = {a: sum(n for (b, _), n in table.items() if a == b) for a, _ in table}
    y = {a: sum(n for (_, b), n in table.items() if a == b) for _, a in table}
    shared = sum(n / total * log(n * total / (z[a] * y[b])) for (a, b), n in table.items())
    uncertain = -sum(n / total * log(n / total) for n in y.values()) if len(y) > 1 else 0
    bias = (len(z) - 1) * (len(y) - 1) / (2 * total or 1)
    expected = max(0.0, (shared - bias) / uncertain) if uncertain else 0.0
    assert dependence(joint) == pytest.approx(expected, abs=1e-9) and 0 <= dependence(joint) <= 1


def test_balance() -> None:
    story = "box " + "." * 26 + " jar, box.", "jar" + "." * 37  # 40 characters each
    read = [
        Reading(row(story[0], answer="box", choices=("jar", "box")), None, False, ("box", "jar")),
        Reading(row(story[0], answer="jar", choices=("jar",)), None, False, ("box", "jar", "box")),
        Reading(row(story[1], answer="jar", choices=("tin",)), None, False, ("tin",)),
        Reading(row(story[1], answer=""), None, False, ()),
        Reading(row(story[1], answer="yes", answer_kind="yes_no"), None, False, ()),
    ]
    found = balance(read)
    assert found.answers == {"jar": 0.4, "box": 0.2, "": 0.2, "yes": 0.2}
    assert (found.distinct, found.evenness) == (4, pytest.approx(evenness([2, 1, 1, 1])))
    assert found.choice_position == {"1": 1, "2": 1}
    assert found.mention_rank == {"1": 1, "2": 1, "none": 2}
    assert list(found.mention_part.items()) == [("1", 1), ("8", 1), ("10", 1), ("none", 1)]
    many = balance([Reading(row("s", answer=str(n)), None, False, ()) for n in range(12)])
    assert (len(many.answers), many.distinct) == (10, 12)


def test_the_longest_candidate_is_read_at_each_word() -> None:
    story = "A big red box, the box, a red bag; big red and the Red Box beside an apple"
    found = read_all(
        [row(story, choices=("the big red", "red box", "box", "an apple", "a", "red"))]
    )
    mentions = ("the big red", "box", "box", "red", "the big red", "red box", "an apple")
    assert found[0].mentions == mentions
    assert found[0].candidates == ("the big red", "box", "red", "red box", "an apple")
    assert not found[0].readable
    [short] = read_all([row("A red b.", choices=("the very", "the red", "red b"))])
    assert short.mentions == ("red b",), "two words, if fewer letters"


def test_candidates_are_the_answers_to_questions_of_the_type() -> None:
    rows = [
        row("Box, jar, tin, yes.", answer="box", question_type="x"),
        row("Tin, box.", answer="tin", question_type="x"),
        row("Jar and box.", answer="jar", question_type="y"),
        row("Box: yes.", answer="yes", question_type="x", answer_kind="yes_no"),
    ]
    found = [read.mentions for read in read_all(rows)]
    assert found == [("box", "tin"), ("tin", "box"), ("jar",), ()]


def test_a_single_leaking_set_is_refused_and_named_alone() -> None:
    shown = Fingerprints.of([row(HALL)])
    retold = row("Once upon a time.", "Why?", story_id=row(HALL).story_id)
    overlaps = {
        "clean": shown.overlap([row(DEN, "Who?")]),
        "leaky": shown.overlap([row(HALL, "Who?"), row(HALL.upper(), "Why?"), retold, row(DEN)]),
    }
    with pytest.raises(UserError, match=r"training set: 3 of 4 rows of leaky\. The study"):
        refuse_contamination("by-story", overlaps)
    assert overlaps["leaky"].found["story"] == (row(HALL, "Who?").id, retold.id)
    refuse_contamination("published", overlaps)
    refuse_contamination("by-story", {"clean": overlaps["clean"]})


def test_ngrams_are_of_thirteen_words_in_a_row() -> None:
    words = [f"w{n}" for n in range(20)]
    shown = Fingerprints.of([row(" ".join(words))])
    thirteen, twelve = (" ".join(["new", *words[3 : 3 + n], "end"]) for n in (13, 12))
    found = shown.overlap([row(thirteen, "Who?"), row(twelve, "Why?")])
    assert NGRAM == found.ngram_words == 13
    assert found.found["ngram"] == (row(thirteen, "Who?").id,)
    assert found.ngram_share == pytest.approx((1 / 3 + 0) / 2)
    # A row shares as much as the one of its texts that shares more.
    single = Fingerprints.of([row("a b c", "x y z?")], 1).overlap([row("a b q r", "x y z?")])
    assert (single.ngram_share, single.rows, single.ngram_words) == (1, 1, 1)


def test_what_is_recorded_of_an_overlap() -> None:
    def asked(story: str, number: int) -> Example:
        question = f"Where does Ann think the {('hat', 'pen')[story == DEN]} is? {'?' * number}"
        return row(story, question, benchmark="hi_tom", id=f"{number}")

    test = [*(asked(HALL, n) for n in range(7)), asked(DEN, 7), row("Else.", "Why?", id="8")]
    record = Fingerprints.of([asked(HALL, 0)]).overlap(test).record()
    assert (record.rows, record.leaked, record.normalised_story) == (9, 7, 7)
    assert (record.structure, record.unread) == (8, 1)
    assert (record.question, record.item, record.ngram) == (7, 7, 7)
    first = ["0", "1", "2", "3", "4"]
    kinds = ["story", "normalised_story", "structure", "question", "item", "ngram"]
    assert list(record.examples) == kinds
    assert all(ids == first for ids in record.examples.values())
    nothing = Fingerprints.of([row("x")]).overlap([row("y", "Why?")]).record()
    assert nothing.examples == {}


def in_half(half: int) -> Iterator[str]:
    """Yield ids of stories of one half: words are chosen on the first, and scored on the other."""
    return (str(n) for n in count() if crc32(str(n).encode()) % 2 == half)


def asked(half: int, questions: list[tuple[str, str]], **fields: object) -> list[Example]:
    """Questions with their answers, each about a story of its own."""
    fields = {"answer_kind": "yes_no", **fields}
    about = zip(questions, in_half(half), strict=False)
    return [row("s", asks, answer, story_id=name, **fields) for (asks, answer), name in about]


def test_the_word_is_chosen_on_one_half_and_scored_on_the_other() -> None:
    first = asked(0, [("Is it so", "yes")] * 13 + [("Is it", "no")] * 12)
    table = {("so", "yes"): 10, ("so", "no"): 3, ("", "yes"): 2, ("", "no"): 10}
    pairs = [
        (f"Is it {z} {'not' if y == 'no' else ''}", y)  # which tells all, and on this half only
        for (z, y), times in table.items()
        for _ in range(times)
    ]
    other = asked(1, pairs)
    found = lexical_dependence([*other, *first])
    assert (found.word, found.score) == ("so", pytest.approx(dependence(table)))
    assert 0.1 < found.score < 0.5
    assert lexical_dependence([*first, *other[1:]]).word == "", "24 rows are too few for a half"
    assert lexical_dependence([*first[1:], *other]).word == ""


@pytest.mark.parametrize(("rare", "usual"), [("odd", ""), ("", "usual")])
@pytest.mark.parametrize("rows", [50, 51])
def test_a_word_stands_and_is_missing_in_one_of_fifty(rare: str, usual: str, rows: int) -> None:
    questions = [(f"Is it {rare}", "no"), *[(f"Is it {usual}", "yes")] * (rows - 1)]
    found = lexical_dependence([*asked(0, questions), *asked(1, questions)])
    assert found.word == ((rare or usual) if rows == 50 else "")


def test_a_word_in_two_places_is_missing_from_the_usual_one_often_enough() -> None:
    fields = {"question": "Is it so?", "answer_kind": "yes_no"}
    rows = [
        row("so" if n == 0 else "s", answer="no" if n == 0 else "yes", story_id=name, **fields)
        for half in (0, 1)
        for n, name in enumerate(islice(in_half(half), 51))
    ]
    assert lexical_dependence(rows).word == "", "one of 51 rows is too few"


def test_it_counts_in_which_option_a_word_stands() -> None:
    """The option without the word is right, and so is each letter half of the time."""
    options = (("it is", "so it is"), ("so it is", "it is"))
    fields = {"answer_kind": "choice", "question": "Is it?", "answer": "it is"}
    names = [name for half in (0, 1) for name in islice(in_half(half), 40)]
    rows = [
        row("s", story_id=name, choices=options[n % 2], **fields) for n, name in enumerate(names)
    ]
    found = lexical_dependence(rows)
    assert (found.word, found.score > 0.9) == ("so", True)
    assert lexical_dependence([row("s", story_id=name, **fields) for name in names]).score == 0


@pytest.mark.parametrize(("kind", "told"), [("label", True), ("yes_no", True), ("span", False)])
def test_words_of_the_story_count_for_labels_only(kind: str, told: bool) -> None:
    names = [name for half in (0, 1) for name in islice(in_half(half), 60)]
    rows = [
        row(f"It is {cue}.", "Is it?", answer, story_id=name, answer_kind=kind)
        for name, (cue, answer) in zip(names, [("so", "a"), ("not", "b")] * 60, strict=True)
    ]
    assert (lexical_dependence(rows).score > 0.9) is told


def optioned(first: int, rows: int, name: str = "", **fields: object) -> list[Example]:
    """Questions with four options; the first one is right in so many, the second else."""
    return [
        row(
            f"{name}{n}.",
            answer=f"{name}r{n}" if n < first else f"{name}s{n}",
            choices=tuple(f"{name}{letter}{n}" for letter in "rstu"),
            **fields,
        )
        for n in range(rows)
    ]


@pytest.mark.parametrize(
    ("first", "rows", "flagged"),
    [(18, 40, True), (17, 40, False), (2, 4, False), (4, 5, True), (19, 40, True)],
)
def test_a_rule_is_flagged_that_is_too_good_and_surely(
    first: int, rows: int, flagged: bool
) -> None:
    """Chance is a quarter; 18 of 40 are 20 points more, and 2 of 4 may be luck."""
    audit = set_audit(optioned(first, rows))
    flags = [(flag.kind, flag.where, flag.what) for flag in audit.flags]
    assert flags == ([("rule", "all", "first choice")] if flagged else [])
    assert [(flag.value, flag.against) for flag in audit.flags] == [(first / rows, 0.25)] * flagged


def test_a_rule_is_held_against_the_majority_where_that_is_better_than_chance() -> None:
    same = [row(f"{n}.", answer="r", choices=("r", "s", "t", "u")) for n in range(20)]
    assert set_audit(same).flags == []
    assert set_audit([*same, *optioned(20, 20)]).flags[0].against == 0.5


def test_rules_are_flagged_by_kind_of_question_except_about_the_world() -> None:
    kinds = {"moved_tom": 1, "order_2": 2, "fact": 0, "memory": -1}
    rows = [
        example
        for kind, order in kinds.items()
        for example in optioned(20, 20, f"{kind} ", question_type=kind, order=order)
    ]
    rows += optioned(0, 20, "none ", question_type="none")
    audit = set_audit(rows)
    where = ["all", "b, moved, order 1", "b, order 2"]
    assert (
        [flag.where for flag in audit.flags if flag.kind == "rule"]
        == [
            *where,
            "b, none",  # where the rule of the second option would be right, if there were one
        ][: len(where)]
    )
    assert set(audit.lexical) == {*where[1:], "b, none", "b, fact, order 0", "b, memory, order -1"}
    assert audit.orders == {"-1": 20, "0": 20, "1": 20, "2": 20, "None": 20}
    assert list(audit.question_types) == sorted([*kinds, "none"])
    groups = audit.baselines.by_order
    assert list(groups) == sorted(groups) and {group.rows for group in groups.values()} == {20}
    assert groups["None"].rules["first choice"] == 0
    by_type = {name: (g.best.rule, g.best.accuracy) for name, g in audit.baselines.by_type.items()}
    assert by_type["fact"] == ("first choice", 1) and by_type["none"][1] < 0.1
    assert audit.baselines.chance == 0.25 and audit.baselines.majority == 5 / 100
    assert audit.baselines.with_guess == {}
    assert audit.shortcut_conflict.rule == "first choice"
    assert audit.shortcut_conflict.ids == [e.id for e in rows[-20:]]


def test_the_kind_of_a_question_tells_form_and_what_is_asked_of_a_parsed_story() -> None:
    about = "Where does Ann think the hat is?"
    rows = [
        row(HALL, about, benchmark="hi_tom", order=1, question_type="order_1"),
        row("s", "Is it?", "no", order=1, answer_kind="yes_no", question_type="order_2"),
    ]
    kinds = ["b, order_2, order 1, yes_no", "hi_tom, order 1, container"]
    assert list(set_audit(rows).lexical) == kinds
    assert kinds_about_minds(read_all(rows)) == {kinds[0]: [1], kinds[1]: [0]}
    assert kinds_about_minds(read_all(rows[:1])) == {}


def test_the_best_rule_of_a_column_is_listed_or_learned_from_its_training_set() -> None:
    column = set_audit(optioned(3, 4)).model_copy(update={"learned_from": {"hi": 0.8, "to": 0.75}})
    audit = Audit(columns={"a": column}, leakage={})
    best = {name: audit.best_rule("a", [name] if name else []) for name in ("hi", "to", None)}
    assert {name: (found.rule, found.accuracy) for name, found in best.items() if found} == {
        "hi": (LEARNED, 0.8),
        "to": ("first choice", 0.75),
        None: ("first choice", 0.75),
    }
    assert audit.best_rule("a", ["to", "hi"]) == best["hi"]
    assert audit.best_rule("a", ["another"]) == best[None]
    assert audit.best_rule("b", ["hi"]) is None


def test_stories_that_are_not_read_are_counted_where_a_parser_should_read_them() -> None:
    told = [("hi_tom", HALL), ("hi_tom", "So."), ("hi_tom_style", "So so."), ("fantom", "So.")]
    rows = [row(story, "Where is the hat really?", benchmark=name) for name, story in told]
    assert set_audit(rows).unread == 2


def test_repeats_and_contradictions_are_shown_up_to_ten() -> None:
    once = [row("A  b.", f"Where {n}?", id=f"{n}") for n in range(12)]
    again = [row("A b.\n", f"Where   {n}?", id=f"again {n}") for n in range(12)]
    other = [row("A b.", f"Where {n}?", "tin", id=f"other {n}") for n in range(11)]
    audit = set_audit([*once, *again, *other])
    assert (audit.duplicates, audit.label_conflicts, audit.stories) == (12, 11, 3)
    assert audit.duplicate_ids == [f"again {n}" for n in range(10)]
    assert len(audit.label_conflict_examples) == 10
    assert audit.label_conflict_examples[0].model_dump() == {
        "question": "Where 0?",
        "answers": {"jar": ["0", "again 0"], "tin": ["other 0"]},
    }
    flags = {flag.kind: (flag.value, flag.against) for flag in audit.flags}
    assert flags == {"conflict": (11, 0), "duplicate": (12, 0)}
    assert set_audit(once).flags == []


def test_a_telling_word_is_flagged() -> None:
    def cued(times: int) -> ColumnAudit:
        pairs = [("Is it so?", "yes")] * times + [("Is it?", "yes")] * (30 - times)
        rows = [*pairs, *[("Is it?", "no")] * 30]
        return set_audit([e for half in (0, 1) for e in asked(half, rows)])

    for times, flagged in ((28, True), (2, False)):
        audit = cued(times)
        [(kind, found)] = audit.lexical.items()
        flags = [(f.where, f.what, f.value, f.against) for f in audit.flags if f.kind == "lexical"]
        assert flags == ([(kind, "so", found.score, 0.15)] if flagged else [])
        assert (found.score >= 0.15) is flagged


def test_cheats_that_a_question_does_not_lend_itself_to_say_nothing() -> None:
    def said(cheat: str, mentions: tuple[str, ...], **fields: object) -> str | None:
        given = CHEATS[cheat](Reading(row("", "Where?", **fields), None, False, mentions))  # type: ignore[arg-type]
        return given and given.removeprefix("Let me see.</think>")

    sentence, either, options, blocks = list(CHEATS)[:4]
    assert said(sentence, ("tin", "jar")) == "<answer>It is tin and jar.</answer>"
    assert said(sentence, ()) is said(either, ("tin",)) is said(either, ()) is None
    assert said(either, ("a", "tin", "jar")) == "<answer>either tin or jar</answer>"
    assert said(options, (), choices=("(a) x", "(b) y")) == "<answer>(a) x\n(b) y</answer>"
    assert said(options, ()) is said(options, (), choices=("jar",)) is None
    assert said(blocks, ("tin", "jar")) == "<answer>tin</answer><answer>jar</answer>"
    assert said(blocks, ("tin",)) is said("the story repeated", ()) is None
    assert said("the question repeated", ()) == "<answer>Where?</answer>"


def test_cheats_are_won_by_share_and_of_equals_by_the_strict_match() -> None:
    tells = "Ann entered the hall. Ann moved the hat to the {}, which is also located in the hall."
    asks = {"question": "In which container is the hat now?", "benchmark": "explore_tom"}
    rows = [
        row(tells.format(place), answer=place, task="explore_tom_sample", **asks)
        for place in ("jar", "jar", "tin", "bag")
    ]
    found = won_without_answer(read_all(rows))
    won = {each.what: (each.published, each.strict) for each in found.cheats}
    assert won["every possible answer in one sentence"] == (1, 0)
    assert won["the story repeated"] == (1, 0) and won["yes and no"] == (0, 0)
    ranks = [(-each.published, -each.strict) for each in found.cheats]
    assert ranks == sorted(ranks) and found.cheat == found.cheats[0] and set(won) == set(CHEATS)
    always = (f"always {each.what!r}" for each in (found.constant, found.strict_constant))
    assert list(found.best()) == [*always, found.cheat.what]
    assert (found.strict_constant.what, found.strict_constant.strict) == ("jar", 0.5)
    assert found.constant.published == 1 and set(found.constant.what.split()) == {
        "jar",
        "tin",
        "bag",
    }


def test_constants_grow_as_long_as_that_wins_rows() -> None:
    def places(*names: str) -> Constants:
        fields = {"benchmark": "explore_tom", "task": "explore_tom_sample"}
        return Constants.tried_on([row("s", answer=name, **fields) for name in names])

    search = places("jar", "tin", "bag", "bin", "pan", "cup", "cup")
    assert search.parts == ["cup", "jar", "tin", "bag", "bin", "pan", "yes", "no", "(a)", "(b)"]
    longest = search.best(strict=False).split()
    assert len(longest) == 5 and longest.count("cup") == 1
    assert search.best(strict=True) == "cup"
    assert search.tried["cup"] == (2, 2) and search.tried["cup jar"] == (3, 0)
    finalists = search.finalists()
    assert 4 <= len(finalists) <= 8
    assert [search.tried[text][0] for text in finalists[:4]] == [6, 6, 6, 6]
    assert "cup" in finalists[4:]
    assert places("..").best(strict=True) == ".."
    rows = [row(f"{n}") for n in range(401)]
    assert Constants.tried_on(rows).examples == Random(0).sample(rows, 400)
    whole = Constants.tried_on(rows[:400])
    assert len(whole.examples) == 400 and [e.story for e in whole.examples][:2] == ["0", "1"]


def test_bars_show_the_best_rules_by_order_side_by_side() -> None:
    rows = [e for order in (2, 10, None) for e in optioned(2, 4, f"{order} ", order=order)]
    one, two = set_audit(rows), set_audit(optioned(1, 2, order=1))
    plain = set_audit(optioned(1, 2))
    figure = rules_by_order({"a": one, "none": plain, "b": two})
    assert figure is not None and rules_by_order({"none": plain}) is None
    axis, other = figure.axes
    assert (axis.get_title(), other.get_title()) == ("a", "b")
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["order 2", "order 10"]
    shown = sorted(one.baselines.rules, key=lambda rule: -one.baselines.rules[rule])[:6]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == [f"{rule} ({100 * one.baselines.rules[rule]:.1f})" for rule in shown]
    heights = [[bar.get_height() for bar in bars] for bars in axis.containers]  # type: ignore[attr-defined]
    groups = one.baselines.by_order
    assert heights == [[100 * groups[order].rules[rule] for order in ("2", "10")] for rule in shown]


def test_places_of_the_gold_answer_are_shown_with_the_most_frequent_in_red() -> None:
    column = set_audit(optioned(1, 4))
    figure = answer_balance({"a": column, "b": column})
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes][::3] == [
        f"{name}: place of the gold answer among the choices" for name in "ab"
    ]
    [bars] = figure.axes[0].containers
    assert [bar.get_height() for bar in bars] == [25, 75]  # type: ignore[attr-defined]
    assert [bar.get_facecolor()[0] > 0.7 for bar in bars] == [False, True]  # type: ignore[attr-defined]
    labels = set_audit([row("s", "Is it?", "no", answer_kind="yes_no")])
    assert answer_balance({"a": labels}) is None
