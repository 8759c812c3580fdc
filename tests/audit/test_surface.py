"""What the surface of a question gives away, counted by hand."""

from __future__ import annotations

from random import Random

import numpy as np

from pipeline.rules import learned
from pipeline.rules.learned import MOST_FITTED, LearnedRule
from pipeline.rules.reading import read_all
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion, surface_of
from pipeline.tasks.example import Example

STORY = """1 Emma, Noah and Mia entered the hall.
2 The apple is in the red_box.
3 Noah moved the apple to the blue_jar.
4 Noah exited the hall.
5 Mia moved the apple to the red_box.
6 Emma exited the hall.
7 Noah, Emma and Mia entered the waiting_room.
8 Noah publicly claimed that the apple is in the tin_can now.
9 Emma privately told Noah that the apple is in the blue_jar now."""
TOLD = (
    "Ann puts the ring in the drawer, near the sofa. Later it lies on the sofa, and the drawer is "
    "shut. It is in the drawer."
)


def features(example: Example, *others: Example) -> dict[str, list[int]]:
    """The features of each candidate that stand after what rules and cues pick."""
    asked, *_ = surface_of(read_all([example, *others]))
    rows = asked.rows[:, len(asked.picks) :].astype(int).tolist()
    return dict(zip(asked.candidates, rows, strict=True))


def where(question: str, order: int) -> Example:
    options = ("red_box", "tin_can", "blue_jar")
    kind = f"order_{order}"
    return Example(
        *("hi_tom", "hi_tom", STORY, question, "red_box", "choice", options),
        order=order,
        question_type=kind,
    )


def test_features_of_a_story_that_is_read() -> None:
    second = where("Where does Emma think Noah thinks the apple is?", 2)
    of_all = [2, 1, 3, 1, 2, 2, 1, 2, 1, 2, 0]
    assert features(second, where("Where is the apple really?", 0)) == {
        # shown, moved, claimed; first, last from the end; mentions, first, last; option, its end
        "red_box": [1, 1, 0, 0, 2, 0, -1, -1, 0, 3, *of_all],
        "blue_jar": [0, 1, 1, 1, 0, 0, -1, -1, 2, 1, *of_all],
        "tin_can": [0, 0, 1, 3, 1, 0, -1, -1, 1, 2, *of_all],
    }
    nobody = [0, 0, 3, 1, 2, 2, 1, 0, 0, 0, 0]
    found = features(where("Where is the apple really?", 0), second)
    assert {tuple(row[10:]) for row in found.values()} == {tuple(nobody)}


def test_what_a_rule_or_cue_picks_is_a_feature_of_each_candidate() -> None:
    (asked,) = surface_of(read_all([where("Where does Emma think Noah thinks the apple is?", 2)]))
    picked = dict(zip(asked.picks, asked.rows.T.tolist(), strict=False))
    assert asked.candidates == ("red_box", "blue_jar", "tin_can")
    assert picked["last"] == [1, 0, 0]
    assert picked["earliest exit"] == [0, 1, 0]
    assert picked["first public claim"] == [0, 0, 1]
    assert picked["first move of the outermost agent"] == [-1, -1, -1]


def test_features_of_a_text_are_its_mentions() -> None:
    options = ("shelf", "sofa", "drawer")
    example = Example("opentom", "opentom", TOLD, "Where is it?", "sofa", choices=options)
    of_all = [-1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5]
    assert features(example) == {
        "shelf": [0, 0, 0, -1, -1, 0, -1, -1, 0, 3, *of_all],
        "sofa": [0, 0, 0, -1, -1, 2, 1, 2, 1, 2, *of_all],
        "drawer": [0, 0, 0, -1, -1, 3, 0, 0, 2, 1, *of_all],
    }


def test_options_are_the_candidates_of_a_text_also_those_that_nobody_mentions() -> None:
    options = ("shelf", "rug", "sofa", "drawer")
    example = Example("opentom", "opentom", TOLD, "Where is it?", "sofa", choices=options)
    assert surface_of(read_all([example]))[0].candidates == options


def made(story: int, candidates: int = 2) -> SurfaceQuestion:
    names = ("jar", "box", "bag")[:candidates]
    rows = np.asarray([[float(place)] for place in range(candidates)], dtype=np.float32)
    return SurfaceQuestion(names, {}, rows.reshape(candidates, 1), f"story {story}")


def test_a_question_without_candidates_has_no_answer_and_one_with_one_teaches_nothing() -> None:
    asked = [made(story) for story in range(60)]
    rule = LearnedRule.fit(asked, [story % 10 > 0 for story in range(60)])
    assert rule is not None and not rule._model.do_early_stopping_  # all is fitted to
    assert rule.answers([made(0, 0), made(1), made(2, 0)]) == [UNDEFINED, 1, UNDEFINED]
    assert rule.answers([made(0, 0)]) == [UNDEFINED]
    assert LearnedRule.fit([made(story, 1) for story in range(60)], [0] * 60) is None
    assert LearnedRule.fit([*asked[:59], made(60, 1)], [0] * 60) is not None
    assert LearnedRule.fit(asked[:50], [0] * 50) is not None
    assert LearnedRule.fit(asked[:49], [0] * 49) is None


def test_of_too_many_questions_those_of_whole_stories_are_fitted() -> None:
    known = [(made(number // 3), 0) for number in range(2 * MOST_FITTED + 1)]
    kept = learned._thinned(Random(0).sample(known, len(known)))
    stories = {asked.story for asked, _ in kept}
    assert MOST_FITTED / 2 < len(kept) <= MOST_FITTED
    assert len(kept) == 3 * len(stories)
    assert learned._thinned(known[:MOST_FITTED]) == known[:MOST_FITTED]
