"""Bad ``params.yaml``, through the commands and the stages that read it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.case import BINARY, BadInput, Damage, becomes, cut, gone

# (what stands in it, what takes its place, words of the message)
_EDITS = (
    (b"rollouts: 2", b"rollouts: 1", ("cells.nano-hi", "grpo", "2")),
    (b"rollouts: 2", b"rollouts: 2\n      rollouts: 4", ("rollouts", "twice")),
    (b"rollouts: 2", b"rollouts: true", ("cells.nano-hi.train.rollouts: found true",)),
    (b"rollouts: 2", b"rollouts: '2'", ("cells.nano-hi.train.rollouts: found '2'",)),
    (b"rollouts: 2", b"rollouts: .inf", ("cells.nano-hi.train.rollouts: found inf",)),
    (b"rollouts: 2", b"rolouts: 2", ("cells.nano-hi.train.rolouts", "no such field")),
    (b"rollouts: 2", b"rollouts: " + 5000 * b"1", ("digits",)),
    (b"rollouts: 2", b"rollouts: [", ("not valid YAML",)),
    (b"  name: mini\n", b"  name: raw\n", ("study.name: found 'raw'",)),
    (b"  name: mini\n", b"  name: ../mini\n", ("study.name: found '../mini'",)),
    (b"  name: mini\n", b"  name:\n", ("study.name: found null",)),
    (b"  nano-hi:\n", b"  base:\n", ("cells.base",)),
    (b"  nano-hi:\n", b"  nano.hi:\n", ("cells.nano.hi",)),
    (b"  nano-hi:\n", b"  nano-base:\n", ("cells.nano-base", "twice")),
    (b"kind: trained", b"kind: retrained", ("cells.nano-hi.kind: found 'retrained'",)),
    (b"combination: hi\n", b"combination: low\n", ("cells.nano-hi.combination", "'low'", "hi")),
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
    ("an empty object", becomes("{}"), ("study: found nothing",)),
    ("binary", becomes(BINARY), ("UTF-8",)),
    ("cut off", cut, ("line ",)),
    ("a study file", becomes("name: mini\ntitle: A\n"), ("no such field",)),
    ("deeply nested", becomes(9000 * "[" + 9000 * "]"), ("nested",)),
)

_READERS: tuple[tuple[str, ...], ...] = (
    ("tomrl", "report"),
    ("tomrl", "run"),
    ("tomrl", "sync"),
    ("tomrl", "train", "plan", "--cell", "nano-hi"),
    ("tomrl", "train", "show", "--cell", "nano-hi"),
    ("acquire", "arithmetic"),
    ("train", "nano-hi"),
    ("report",),
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
