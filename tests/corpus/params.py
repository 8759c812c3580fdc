"""Bad ``params.yaml``, through the commands and the stages that read it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.case import BINARY, BadInput, Damage, becomes, cut, gone

_CELL = b"  nano-hi: {"
# (what stands in it, what takes its place, words of the message)
_EDITS = (
    (b"rollouts: 2", b"rollouts: 1", ("train.rollouts", "grpo", "2")),
    (b"rollouts: 2", b"rollouts: 2\n  rollouts: 4", ("rollouts", "twice")),
    (b"rollouts: 2", b"rolouts: 2", ("train.rolouts", "no such field")),
    (_CELL, _CELL + b"train: {rollouts: 1}, ", ("cells.nano-hi.train.rollouts", "grpo", "2")),
    (_CELL, _CELL + b"train: {rollouts: '2'}, ", ("cells.nano-hi.train.rollouts: found '2'",)),
    (_CELL, _CELL + b"trian: {rollouts: 2}, ", ("cells.nano-hi.trian", "no such field")),
    (_CELL, _CELL + b"kind: retrained, ", ("cells.nano-hi.kind: found 'retrained'",)),
    (_CELL, _CELL + b"combination: low, ", ("cells.nano-hi.combination", "'low'", "hi")),
    (b"rollouts: 2", b"rollouts: [", ("not valid YAML",)),
    (b"name: mini\n", b"name: raw\n", ("name: found 'raw'",)),
    (b"name: mini\n", b"name: ../mini\n", ("name: found '../mini'",)),
    (_CELL, b"  base: {", ("cells.base",)),
    (_CELL, b"  nano.hi: {", ("cells.nano.hi",)),
    (_CELL, b"  nano-base: {", ("cells.nano-base", "twice")),
    (_CELL, b"  nano-ho: {", ("cells.nano-ho", "nano-hi", "tomrl study use mini")),
    (b"inputs: data/mini", b"inputs: data/maxi", ("cells.nano-hi.inputs", "tomrl study use mini")),
    (b"combos: [hi]", b"combos: [low]", ("combos.0: found 'low'", "hi")),
    (b"models: {nano: ", b"models: {nino: ", ("models.nino", "nano")),
)


def _edit(old: bytes, new: bytes) -> Damage:
    def change(content: bytes) -> bytes:
        assert content.count(old) >= 1, f"{old!r} does not stand in params.yaml"
        at = content.rindex(old)
        return content[:at] + new + content[at + len(old) :]

    return change


_WHOLE: tuple[tuple[str, Damage, tuple[str, ...]], ...] = (
    ("missing", gone, ("does not exist", "tomrl study use")),
    ("empty", becomes(""), ("holds nothing",)),
    ("null", becomes("null"), ("holds nothing",)),
    ("a list", becomes("[]"), ("found a list",)),
    ("an empty object", becomes("{}"), ("name: found nothing",)),
    ("binary", becomes(BINARY), ("UTF-8",)),
    ("cut off", cut, ("line ",)),
    ("a study file", becomes("name: mini\ntitle: A\n"), ("cells: found nothing",)),
    ("deeply nested", becomes(9000 * "[" + 9000 * "]"), ("nested",)),
)

_READERS: tuple[tuple[str, ...], ...] = (
    ("tomrl", "report"),
    ("tomrl", "run"),
    ("tomrl", "sync"),
    ("tomrl", "plan", "--cell", "nano-hi"),
    ("expand",),
)


def bad_params() -> Iterator[BadInput]:
    """Yield the bad files: all through one reader, the worst through every one."""
    for old, new, says in _EDITS:
        name = f"params.yaml: {old.decode().strip()!r} -> {new[:40].decode()!r}"
        words = ("params.yaml", *says)
        yield BadInput(name, ("tomrl", "report"), words, {"params.yaml": _edit(old, new)})
    for what, damage, says in _WHOLE:
        for command in _READERS if what in ("missing", "empty", "cut off") else _READERS[:1]:
            name = f"params.yaml {what}: {' '.join(command)}"
            yield BadInput(name, command, ("params.yaml", *says), {"params.yaml": damage})
