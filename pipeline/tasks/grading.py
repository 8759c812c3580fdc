"""Answer extraction and matching: the one grader of reward and evaluation.

Every rule is linear in the length of the response. Model output is hostile text: nothing is
evaluated, and tags are searched without backtracking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tasks.example import Example
from pipeline.tasks.plain import plain, split_letter

Matcher = Callable[[str, Example], bool]
Extractor = Callable[[str], str | None]

THINK_START, THINK_END = "<think>", "</think>"
ANSWER_START, ANSWER_END = "<answer>", "</answer>"
_TAGS = (THINK_START, THINK_END, ANSWER_START, ANSWER_END)
_LONGEST_EQUAL = 10_000  # far beyond any truth
_NORMALISED = str.maketrans("_", " ", ".,;:!?")


class TooLate(Exception):
    """An answer that no rule could judge in time."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one response.

    Attributes:
        correct: By the benchmark's rule, or the strict one on the answer that the first one read.
        strict: By the strict rule, which rejects several answers.
        format_ok: Each tag occurs once, in order.
        extracted: The answer found.
        too_late: No rule could judge the answer in time, so it counts as wrong.
        published: By the benchmark's rule alone, as in its authors' code.
    """

    correct: bool
    strict: bool
    format_ok: bool
    extracted: str | None
    too_late: bool = False
    published: bool = False


def normalise(text: str) -> str:
    """Lower-case, collapse spaces, drop ``.,;:!?`` and turn ``_`` into a space, in this order.

    Source: Study 1's answer check, zhebushipinyin/Tom-RL:eval_tom/reasoning_model_eval.py
    (``normalize_answer``). The order shows: a free-standing full stop leaves its space behind.
    """
    return " ".join(text.lower().split()).translate(_NORMALISED)


def match_suffix(answer: str, example: Example) -> bool:
    """Study 1's rule: equal after normalisation, or the answer ends with the truth.

    Source: zhebushipinyin/Tom-RL:eval_tom/reasoning_model_eval.py (``check_answer_correctness``),
    whose pattern ``.*?TRUTH\\s*\\b$`` asks for a word character at the very end. The same rule on
    answers in JSON is the "expanded" one behind the base column of the paper's Table 1.
    """
    found, truth = normalise(answer), normalise(example.answer)
    return bool(truth) and (found == truth or (found.endswith(truth) and _ends_in_word(truth)))


def match_equal(answer: str, example: Example) -> bool:
    """The strict rule: the right answer and nothing else.

    Decoration (:mod:`pipeline.tasks.plain`), spaces and a leading article do not matter. A letter
    before it must be that of the right option.
    """
    if len(answer) >= _LONGEST_EQUAL:
        return False
    letter, said = split_letter(answer)
    of_truth, truth = _truth(example.answer)
    right_letter = letter in (None, of_truth) or option_of(letter, example) == example.answer
    return right_letter and _bare(said) == truth != ""


@lru_cache(maxsize=4096)
def _truth(answer: str) -> tuple[str | None, str]:
    """(letter, text) of a gold answer."""
    letter, text = split_letter(answer)
    return letter, _bare(text)


def option_of(letter: str | None, example: Example) -> str | None:
    """The option of a lower-case letter, or None."""
    place = ord(letter) - ord("a") if letter else -1
    choices = example.choices or ()
    return choices[place] if 0 <= place < len(choices) else None


def match_verbatim(answer: str, example: Example) -> bool:
    """Study 1's rule for base models before it was expanded: the answer ends with the truth.

    Case and final full stops are ignored, underscores kept. It reproduces the authors' own grades
    (column ``rule_based_eval``) of all 3,000 recorded responses of base models.
    """
    truth = example.answer.lower()
    return bool(truth) and answer.strip().lower().rstrip(".").endswith(truth)


def format_ok(response: str) -> bool:
    """The response, after a pre-filled ``<think>``, uses each tag once, in order.

    Study 1's format rule as coded: all four tags exactly once, think before answer. The pre-filled
    tag is one of the four. Source: zhebushipinyin/Tom-RL:verl/utils/reward_score/kk.py
    (``validate_response_structure``).
    """
    text = THINK_START + response
    positions = [text.find(tag) for tag in _TAGS]
    return all(text.count(tag) == 1 for tag in _TAGS) and positions == sorted(positions)


def repeats_a_tag(response: str) -> bool:
    """Any tag, including the pre-filled ``<think>``, occurs more than once."""
    text = THINK_START + response
    return any(text.count(tag) > 1 for tag in _TAGS)


def extract_tagged(response: str) -> str | None:
    """The text of the last closed ``<answer>`` block, or None."""
    start = response.rfind(ANSWER_START, 0, max(response.rfind(ANSWER_END), 0))
    if start < 0:
        return None
    start += len(ANSWER_START)
    return response[start : response.find(ANSWER_END, start)].strip()


def extract_tagged_or_all(response: str) -> str | None:
    """The tagged answer, else the whole reply without its thought, or None.

    For benchmarks whose authors grade the whole reply.
    """
    if is_unfinished(response):
        return None
    tagged = extract_tagged(response)
    return response.rpartition(THINK_END)[2].strip() if tagged is None else tagged


def is_unfinished(response: str) -> bool:
    return response.rfind(THINK_START) > response.rfind(THINK_END)


def grade(
    response: str,
    example: Example,
    match: Matcher,
    strict: Matcher,
    extract: Extractor = extract_tagged,
) -> Grade:
    """Grade a response: the benchmark's rule, the strict rule, and the format.

    The benchmark's rule reads the last of several answers; the strict one rejects them. A bare
    right answer is right by either.
    """
    extracted = extract(response)
    if not extracted or not extracted.strip():
        return Grade(False, False, format_ok(response), extracted)
    alone, published, late = strict(extracted, example), False, False
    try:
        published = match(extracted, example)
    except TooLate:
        late = True
    return Grade(
        correct=published or alone,
        strict=alone and _has_one_answer(response),
        format_ok=format_ok(response),
        extracted=extracted,
        too_late=late and not alone,
        published=published,
    )


def _has_one_answer(response: str) -> bool:
    return response.count(ANSWER_START) <= 1 and response.count(ANSWER_END) <= 1


def _ends_in_word(text: str) -> bool:
    return text[-1].isalnum() or text[-1] == "_"


def _bare(text: str) -> str:
    text = plain(text)
    for article in ("the ", "a ", "an "):
        if text.startswith(article):
            return text[len(article) :]
    return text
