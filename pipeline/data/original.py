"""The prompt of Study 1 as its authors wrote it, taken from their own data when data is built.

Source: bigai-ai/ToM-RL:data/cleaned_tom/ToM_train_HiEx_hint.parquet, column ``prompt``: chat text
in Qwen's form, with one system message and one frame around story and question in all rows. Its
words are read from that file, so that prompts match the published ones verbatim.
"""

from __future__ import annotations

from pathlib import Path

from pipeline.data.messages import Messages
from pipeline.formats.records import Record
from pipeline.tasks.reading import SourceRow, read_rows

ORIGINAL = "tom-rl"
"""The prompt style taken from the acquired files."""

SOURCE = "tom_rl"
"""Its source."""

_FILE = "ToM_train_HiEx_hint.parquet"
_START, _TURN = "<|im_start|>system\n", "<|im_end|>\n<|im_start|>user\n"
_END = "<|im_end|>\n<|im_start|>assistant\n<think>"


class Frame(Record):
    """The text of a prompt around story and question, with a system message."""

    system: str
    before: str
    between: str
    after: str

    def messages(self, story: str, question: str) -> Messages:
        asked = f"{self.before}{story}{self.between}{question}{self.after}"
        return [{"role": "system", "content": self.system}, {"role": "user", "content": asked}]


def read_frame(raw: Path, file: str = _FILE) -> Frame:
    """The common frame of all prompts in a published file; UserError without one."""
    rows = read_rows(raw / SOURCE / file, ("prompt", "story", "question"))
    frame = _frame_of(rows[0])
    for row in rows:
        if _frame_of(row) != frame:
            row.fail(
                "its prompt differs from that of the first row in more than story and question"
            )
    return frame


def _frame_of(row: SourceRow) -> Frame:
    text = row.rows("prompt")[0].text("content")
    system, turn, asked = text.removeprefix(_START).partition(_TURN)
    before, story, rest = asked.removesuffix(_END).partition(row.text("story"))
    between, question, after = rest.partition(row.text("question"))
    if not (text.startswith(_START) and text.endswith(_END) and turn and story and question):
        row.fail(
            "its prompt is not a chat of a system and a user message around story and question"
        )
    return Frame(system=system, before=before, between=between, after=after)
