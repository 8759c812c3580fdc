"""One set of answers in the forms that other people's tools write: one verdict, whatever the form."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.evaluate.naming import naming_of, split_prompt
from pipeline.tasks.registry import get
from tests.said import tomrl

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

Row = Mapping[str, Any]
Write = Callable[[Path, Sequence[Row]], tuple[object, ...]]


def answers() -> list[dict[str, Any]]:
    """72 answers, two in three of them right."""
    told = stories(HiTomSource(kind="hi_tom_style", agents=3), "test", 18)
    rows: list[dict[str, Any]] = [dict(row) for of_story in told for row in of_story]
    for number, row in enumerate(rows):
        row["id"] = f"q{number}"
        row["choices"] = list(row["choices"])
        said = row["answer"] if number % 3 else row["choices"][number % len(row["choices"])]
        row["response"] = f"<think>So it is.</think><answer>{said}</answer>"
    return [{name: row[name] for name in KEPT} for row in rows]


KEPT = ("id", "story", "question", "choices", "answer", "order", "response")


def _lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def _rows(change: Callable[[Row], Row], *said: str) -> Write:
    """Write JSON lines whose rows are changed, and what is typed with the file."""

    def write(folder: Path, rows: Sequence[Row]) -> tuple[object, ...]:
        return (_lines(folder / "a.jsonl", [change(row) for row in rows]), *said)

    return write


def _renamed(**names: str) -> Write:
    return _rows(lambda row: {names.get(name, name): value for name, value in row.items()})


def _without(row: Row, *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _labelled(row: Row) -> str:
    return (
        f"Read this and answer.\n\nStory:\n{row['story']}\n\nQuestion: {row['question']}\nAnswer:"
    )


def _prompt(row: Row) -> Row:
    return _without(row, "story", "question") | {"prompt": _labelled(row)}


def _bare_prompt(row: Row) -> Row:
    return _without(row, "story", "question") | {"input": f"{row['story']}\n{row['question']}"}


def _chat(row: Row) -> Row:
    turns = [
        {"role": "system", "content": "Answer in tags."},
        {"role": "user", "content": [{"type": "text", "text": _labelled(row)}]},
        {"role": "assistant", "content": row["response"]},
    ]
    return _without(row, "story", "question", "response") | {"messages": turns}


def _sharegpt(row: Row) -> Row:
    turns = [
        {"from": "human", "value": _labelled(row)},
        {"from": "gpt", "value": row["response"]},
    ]
    return _without(row, "story", "question", "response") | {"conversations": turns}


def _completion(row: Row) -> Row:
    """A conversation as TRL has it."""
    return _without(row, "story", "question", "response") | {
        "prompt": [{"role": "user", "content": _labelled(row)}],
        "completion": [{"role": "assistant", "content": row["response"]}],
    }


def _several(row: Row) -> Row:
    return _without(row, "response") | {"responses": [row["response"]]}


def _nested(row: Row) -> Row:
    return {"doc": _without(row, "response"), "body": {"choices": [{"text": row["response"]}]}}


NESTED = ",".join(
    (
        *(f"{name}=doc.{name}" for name in KEPT if name != "response"),
        "response=body.choices.0.text",
    )
)


def _two_models(row: Row) -> Row:
    return _without(row, "response") | {"ours": row["response"], "theirs": "no"}


def _letters(row: Row) -> Row:
    """The gold answer as a letter, and options in one text."""
    letters = [chr(ord("A") + place) for place in range(len(row["choices"]))]
    options = [f"{letter}. {each}" for letter, each in zip(letters, row["choices"], strict=True)]
    gold = letters[row["choices"].index(row["answer"])]
    return _without(row, "answer", "choices") | {"gold": gold, "options": ", ".join(options)}


def _numbered(row: Row) -> Row:
    lines = enumerate(row["story"].splitlines(), 1)
    story = "\n".join(f"{number} {line}" for number, line in lines)
    return {**row, "story": story, "question": f"9 {row['question']}"}


def _excel(folder: Path, rows: Sequence[Row]) -> tuple[object, ...]:
    made = [{**row, "choices": json.dumps(row["choices"])} for row in rows]
    pd.DataFrame(made).to_excel(folder / "a.xlsx", index=False)
    return (folder / "a.xlsx",)


def _inspect(folder: Path, rows: Sequence[Row]) -> tuple[object, ...]:
    """A log as current versions of Inspect pack it, with zstandard."""
    with zipfile.ZipFile(folder / "a.eval", "w", zipfile.ZIP_ZSTANDARD) as log:
        for row in rows:
            sample = {
                "id": row["id"],
                "epoch": 1,
                "input": row["question"],
                "target": row["answer"],
                "metadata": _without(row, "response", "answer", "id"),
                "output": {"choices": [{"message": {"content": row["response"]}}]},
            }
            log.writestr(f"samples/{row['id']}_epoch_1.json", json.dumps(sample))
    return (folder / "a.eval",)


def _tomeval(row: Row) -> Row:
    """A line of ToMEval's ``prediction.jsonl``."""
    wrong = [each for each in row["choices"] if each != row["answer"]]
    letters = {chr(ord("A") + place): each for place, each in enumerate(row["choices"])}
    gold = [letter for letter, each in letters.items() if each == row["answer"]]
    thought, answer = _parts(row)
    return {
        **{"sample_id": row["id"], "sample_index": 0, "repeat": 0},
        **{"story": row["story"], "question": row["question"]},
        **{"correct_answers": [row["answer"]], "wrong_answers": wrong, "prompt_type": "mcq_single"},
        **{"prompt": _labelled(row), "options": letters, "correct_letters": gold},
        **{"wrong_letters": sorted({*letters} - {*gold}), "shuffle_seed": 7},
        **{"meta": {"order": row["order"]}, "pred": {"content": answer, "reasoning": thought}},
        **{"protocol": "cot", "extractor": "extract_cot", "order": row["order"]},
    }


def _robusttom(row: Row) -> Row:
    """A candidate as RobustToM-RL samples it: the gold answer lies beside the target's trace."""
    letters = [f"{chr(ord('A') + n)}. {each}" for n, each in enumerate(row["choices"])]
    prompt = (
        f"Read the story.\nStory:\n{row['story']}\n\nQuestion: {row['question']}\n"
        f"Choices: {', '.join(letters)}\n\nReturn one JSON object.\n"
    )
    return {
        **{"candidate_id": f"{row['id']}::0", "global_sample_id": row["id"]},
        **{"process_target": {"reasoning_mode": "nested_belief", "answer": row["answer"]}},
        **{"process_prompt": prompt, "raw_response": row["response"]},
        **{"question_order": row["order"], "finish_reason": "stop"},
    }


def _verl(row: Row) -> Row:
    """A line of verl's ``rollout_data_dir``: the decoded chat, and what the reward function adds."""
    asked = f"system\nAnswer in tags.\nuser\n{_labelled(row)}\nassistant\n<think>"
    said = row["response"].removeprefix("<think>")
    dumped = {"input": asked, "output": said, "gts": row["answer"], "score": 1.0, "step": 700}
    return dumped | {name: row[name] for name in ("id", "choices", "order")}


def _chatml(row: Row) -> Row:
    """The same with the marks of the template, which verl keeps on request."""
    turns = (("system", "Answer in tags."), ("user", _labelled(row)))
    asked = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    said = _verl(row)
    output = f"{said['output']}<|im_end|><|endoftext|>"
    return {**said, "input": f"{asked}<|im_start|>assistant\n<think>", "output": output}


def _whole_chat(row: Row) -> Row:
    """What a model's pipeline generated, with the prompt that it went on from."""
    asked = str(_chatml(row)["input"]).removesuffix("<think>")
    whole = f"<|endoftext|>{asked}{row['response']}<|im_end|>\n<|endoftext|>"
    return {**_without(row, "response", "story", "question"), "generated_text": whole}


def _parts(row: Row) -> tuple[str, str]:
    thought, _, answer = row["response"].removeprefix("<think>").partition("</think>")
    return thought, answer


FORMS: Mapping[str, Write] = {
    "other names": _renamed(story="context", answer="gold", response="prediction"),
    "names of a csv of 2023": _renamed(story="actions", response="gpt_response"),
    "a labelled prompt": _rows(_prompt),
    "a bare prompt": _rows(_bare_prompt),
    "a chat": _rows(_chat),
    "ShareGPT": _rows(_sharegpt),
    "TRL": _rows(_completion),
    "a list of responses": _rows(_several),
    "nested fields": _rows(_nested, "--columns", NESTED),
    "two models in a row": _rows(_two_models, "--columns", "response=ours"),
    "Excel": _excel,
    "letters": _rows(_letters),
    "numbered lines": _rows(_numbered),
    "Inspect": _inspect,
    "ToMEval": _rows(_tomeval),
    "RobustToM-RL": _rows(_robusttom),
    "verl": _rows(_verl),
    "verl, in ChatML": _rows(_chatml),
    "a whole chat, in ChatML": _rows(_whole_chat),
}


def _verdict(*words: object) -> dict[str, Any]:
    said = json.loads(tomrl("judge", *words, "--json"))
    return {name: value for name, value in said.items() if name != "taken"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return _verdict(_lines(tmp_path_factory.mktemp("plain") / "a.jsonl", answers()))


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_file_does_not_matter(
    form: str, plain: dict[str, Any], tmp_path: Path
) -> None:
    assert plain["benchmark"] == "hi_tom" and plain["answered"]["count"] == 72
    assert _verdict(*FORMS[form](tmp_path, answers())) == plain


def test_guesses_are_told(tmp_path: Path) -> None:
    said = " ".join(tomrl("judge", *FORMS["other names"](tmp_path, answers())).split())
    assert (
        "taken 'context' for the story, 'gold' for the answer, 'prediction' for the response"
        in said
    )
    assert "stories read as hi_tom." in said


def test_what_two_fields_could_hold_is_asked(tmp_path: Path) -> None:
    rows = [_without(row, "response") | {"output": "a", "prediction": "b"} for row in answers()]
    with pytest.raises(UserError, match="prediction and output could each hold the response; say"):
        tomrl("judge", _lines(tmp_path / "a.jsonl", rows))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("stroy=a", "did you mean 'story'"),
        ("story", "write what a field holds and its name"),
        ("story=doc.text", "--columns names 'doc.text'; found the fields id, "),
    ],
)
def test_columns_that_cannot_be_are_refused(said: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(why)):
        tomrl("judge", _lines(tmp_path / "a.jsonl", answers()), "--columns", said)


def test_stories_that_no_parser_reads_get_no_mind(tmp_path: Path) -> None:
    rows = [{**row, "story": row["story"].replace(" moved ", " carried off ")} for row in answers()]
    file = _lines(tmp_path / "a.jsonl", rows)
    said = " ".join(tomrl("judge", file).split())
    assert (
        "stories read 8 of the first 72 as hi_tom; hi_tom: cannot read sentence" in said
        and "carried off" in said
    )
    found = _verdict(file)
    assert (found["benchmark"], found["profile"]) == ("other", [])
    assert found["reasoning"] == "unreadable"


def test_answers_alone_are_joined_with_their_questions(mirror: Path, tmp_path: Path) -> None:
    asked = get("hi_tom").examples(mirror)[:60]
    right = [f"<think></think><answer>{example.answer}</answer>" for example in asked]
    whole = [
        {"id": e.id, "response": said, "story": e.story, "question": e.question}
        | {"answer": e.answer, "choices": e.choices, "order": e.order}
        | {"question_type": e.question_type}
        for e, said in zip(asked, right, strict=True)
    ]
    expected = _verdict(_lines(tmp_path / "whole.jsonl", whole), "-b", "hi_tom")
    bare = [{"id": row["id"], "response": row["response"]} for row in whole]
    assert _verdict(_lines(tmp_path / "bare.jsonl", bare), "-b", "hi_tom") == expected
    folder = tmp_path / "responses"
    folder.mkdir()
    for example, said in zip(asked, right, strict=True):
        (folder / f"{example.meta['sample_id']:04}.txt").write_text(said, encoding="utf-8")
    with pytest.raises(UserError, match=r"no question of hi_tom has the id '0000'"):
        tomrl("judge", folder, "-b", "hi_tom")
    for file in folder.iterdir():
        file.rename(folder / f"{int(file.stem)}.txt")
    found = _verdict(folder, "-b", "hi_tom")
    assert found["answered"] == expected["answered"] and found["answers"] == expected["answers"]
    batch = [_of_a_batch(row["id"], row["response"]) for row in bare]
    assert _verdict(_lines(tmp_path / "batch.jsonl", batch), "-b", "hi_tom") == expected
    by_item = [_of_responses(row["id"], row["response"]) for row in bare]
    assert _verdict(_lines(tmp_path / "batch.jsonl", by_item), "-b", "hi_tom") == expected
    own = [_without(r, "response") | _without(b, "id") for r, b in zip(whole, batch, strict=True)]
    assert _verdict(_lines(tmp_path / "batch.jsonl", own)) == expected
    bare[3]["question"] = "Where is it?"
    with pytest.raises(UserError, match="found 'Where is it[?]'"):
        tomrl("judge", _lines(tmp_path / "other.jsonl", bare), "-b", "hi_tom")


def _of_a_batch(asked: str, said: str) -> Row:
    """A line that OpenAI and ``vllm run-batch`` write, reasoning apart."""
    thought, _, answer = said.removeprefix("<think>").partition("</think>")
    message = {"role": "assistant", "content": answer, "reasoning_content": thought}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}
    return {
        "id": f"batch_req_{asked}",
        "custom_id": asked,
        "response": {"status_code": 200, "request_id": "r", "body": body},
        "error": None,
    }


def _of_responses(asked: str, said: str) -> Row:
    """The same from OpenAI's newer endpoint."""
    thought, _, answer = said.removeprefix("<think>").partition("</think>")
    summary = [{"type": "summary_text", "text": thought}]
    content = [{"type": "output_text", "text": answer}]
    output = [{"type": "reasoning", "summary": summary}, {"type": "message", "content": content}]
    body = {"object": "response", "output": output}
    return {"custom_id": asked, "response": {"status_code": 200, "body": body}, "error": None}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"response": None, "error": {"message": "expired"}}, "expired"),
        ({"response": None, "error": None}, "no answer"),
        ({"response": {"body": "upstream connect error"}}, "upstream connect error"),
        ({"response": {"body": {"error": {"error": {"message": "too long"}}}}}, "too long"),
        ({"response": {"body": ["no"]}, "error": 3}, "3"),
        ({"response": {"body": {"choices": 1, "output": 1}}}, "no answer"),
        ({"response": {"body": {"choices": ["x"]}}}, "no answer"),
    ],
)
def test_a_question_of_a_batch_that_was_not_answered_is_left_out(
    line: Row, why: str, tmp_path: Path
) -> None:
    rows = [
        _without(row, "response") | _without(_of_a_batch(row["id"], row["response"]), "id")
        for row in answers()
    ]
    said = tomrl("judge", _lines(tmp_path / "a.jsonl", [{"custom_id": "q0", **line}, *rows[1:]]))
    assert f"1 of the questions ({why}); left out" in " ".join(said.split())


def test_a_chat_with_marks_is_split_at_these_alone() -> None:
    said = "<|im_start|>user\nWhere?<|im_end|>\n<|im_start|>assistant\nThe\nuser\nbox.<|im_end|>"
    row = {"story": "Ann put it there.", "generated_text": f"{said}\n<|im_start|>tool\nIt is not."}
    (found,) = naming_of("a file", row, {}).rows("a row", row)
    assert found["response"] == "The\nuser\nbox."


@pytest.mark.parametrize("text", ["", "Where?", "Story: none", "Question: What?"])
def test_a_prompt_without_a_story_has_none(text: str) -> None:
    assert split_prompt(text).get("story") is None
