"""The lease on a folder, with real processes and real files: killed, paused, crowded, damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from pipeline.base.errors import UserError
from pipeline.formats.files import folder_digests
from pipeline.ops.cluster import lease
from pipeline.ops.cluster.attempts import last_number, lease_folder, take_over
from pipeline.ops.cluster.lease import (
    Holder,
    Lease,
    LeaseClaim,
    LeaseLost,
    LeaseWatch,
    hold,
    how_over,
    last_claim,
)
from pipeline.ops.verl.layout import State
from tests.alive import until

SHORT = 2.0  # seconds; for LEASE_SECONDS
# An attempt at work: it asks before each line that it writes, as the job does.
ATTEMPT = """
    import os, signal, sys, time
    from pathlib import Path
    from pipeline.ops.cluster import lease
    from pipeline.ops.cluster.lease import Holder, LeaseLost, hold
    from pipeline.ops.cluster.attempts import last_number, lease_folder, take_over
    from pipeline.ops.verl.layout import State

    root, pauses = Path(sys.argv[1]), sys.argv[2:] == ["pauses"]
    lease.LEASE_SECONDS, lease.RENEW_SECONDS = 2.0, 0.2
    say = lambda text: print(text, flush=True)
    leases = lease_folder(root)

    def work(held):
        state = State(root, held.name)
        take_over(root, held.name)
        for number in range(10**6):
            held.check()
            if pauses and number == 5:
                os.kill(os.getpid(), signal.SIGSTOP)  # between the question and the writing
            state.checkpoints.mkdir(exist_ok=True)
            with state.steps.open("a") as journal:
                journal.write(f"{number}\\n")
            say(f"wrote {number}")
            time.sleep(0.05)

    try:
        with hold(leases, Holder.here("first"), above=last_number(root), say=say) as (held, _):
            work(held)
    except LeaseLost as error:
        say(f"ends: {error}")
        sys.exit(1)
    """
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Run a program in a process of its own."""
    running: list[subprocess.Popen[str]] = []

    def run(program: str, *arguments: str | Path) -> subprocess.Popen[str]:
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", dedent(program), *map(str, arguments)],
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that run out soon."""
    monkeypatch.setattr(lease, "LEASE_SECONDS", SHORT)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.2)
    monkeypatch.setattr(lease, "SAY_SECONDS", 0.5)


def _until(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for said in process.stdout:
        if said.strip() == line:
            return
    raise AssertionError(f"it ended without saying {line!r}")


def _overtake(root: Path, said: list[str]) -> tuple[State, dict[str, str], float]:
    """Take over, write, and return what was written and how long the wait was."""
    began = time.monotonic()
    leases = lease_folder(root)
    holder = Holder.here("second")
    with hold(leases, holder, above=last_number(root), say=said.append) as (held, _):
        waited = time.monotonic() - began
        state = State(root, held.name)
        take_over(root, held.name)
        with state.steps.open("a") as journal:
            journal.write("by the second\n")
    return state, folder_digests(state.folder), waited


def _paused(process: subprocess.Popen[str]) -> bool:
    status = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return status == "T"


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("pauses", [False, True], ids=["anywhere", "between asking and writing"])
def test_a_paused_attempt_is_overtaken_and_wakes_up_to_write_nothing(
    tmp_path: Path, start: Start, pauses: bool
) -> None:
    old = start(ATTEMPT, tmp_path, *(["pauses"] if pauses else []))
    _until(old, "wrote 4")
    if not pauses:
        old.send_signal(signal.SIGSTOP)
    assert until(lambda: _paused(old))
    said: list[str] = []
    state, written, waited = _overtake(tmp_path, said)
    assert waited >= SHORT
    assert said[0].startswith(f"waits for the attempt before it (job first, process {old.pid} on ")
    lines = state.steps.read_text().splitlines()
    assert lines[:5] == ["0", "1", "2", "3", "4"] and lines[-1] == "by the second"
    old.send_signal(signal.SIGCONT)
    out, _ = old.communicate(timeout=20)
    assert old.returncode == 1
    assert "ends: its lease was taken over by job second, process " in out
    assert folder_digests(state.folder) == written, "the bytes of the second are its own"
    _, again, waited = _overtake(tmp_path, [])
    assert waited < SHORT and set(written) <= set(again)
    assert [path.name[:6] for path in (tmp_path / "attempts").iterdir()] == ["000003"]


def test_a_killed_attempt_is_overtaken_at_once(tmp_path: Path, start: Start) -> None:
    old = start(ATTEMPT, tmp_path)
    _until(old, "wrote 3")
    old.kill()  # not waited for: what is left of a process writes nothing either
    _, _, waited = _overtake(tmp_path, [])
    assert waited < lease.LEASE_SECONDS / 3
    first = Holder.model_validate_json((tmp_path / "lease" / "000001.json").read_bytes())
    assert first.ended == "its process has ended"


def test_an_attempt_that_lives_is_waited_for(tmp_path: Path, start: Start) -> None:
    patient = ATTEMPT.replace("2.0, 0.2", "6.0, 0.2")
    old = start(patient, tmp_path)
    _until(old, "wrote 3")
    second = start(patient.replace("wrote", "overtook with"), tmp_path)
    assert second.stdout is not None
    assert second.stdout.readline().startswith("waits for the attempt before it (job first")
    time.sleep(7)  # longer than a lease
    assert second.poll() is None and len(list((tmp_path / "lease").glob("0*"))) == 1
    old.terminate()
    assert second.stdout.readline() == "overtook with 0\n"


def test_of_many_one_at_a_time_holds_it(tmp_path: Path, start: Start) -> None:
    program = """
        import sys, time
        from pathlib import Path
        from pipeline.ops.cluster import lease
        from pipeline.ops.cluster.lease import Holder, hold
        lease.POLL_SECONDS = 0.01
        folder = Path(sys.argv[1])
        for _ in range(4):
            with hold(folder / "lease", Holder.here(""), above=0, say=str) as (held, _):
                with (folder / "inside").open("x"):
                    print(held.number, flush=True)
                    time.sleep(0.01)
                (folder / "inside").unlink()
        """
    processes = [start(program, tmp_path) for _ in range(6)]
    numbers = [int(n) for each in processes for n in each.communicate(timeout=100)[0].split()]
    assert [each.returncode for each in processes] == [0] * 6
    assert sorted(numbers) == list(range(1, 25))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("content", [b"", b"\0\xff", b"null", b"[]", b"{}", b'{"owner": "a", "pro'])
def test_a_damaged_lease_is_held_until_it_runs_out(tmp_path: Path, content: bytes) -> None:
    leases = lease_folder(tmp_path)
    leases.mkdir()
    (leases / "000007.json").write_bytes(content)
    said: list[str] = []
    state, _, waited = _overtake(tmp_path, said)
    assert waited >= SHORT and state.attempt.startswith("000008-")
    assert "(somebody whose lease is damaged)" in said[0]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: path.write_text("{"), "is damaged"),
        (lambda path: path.unlink(), "was removed"),
        (lambda path: path.rename(path.with_name("000009.json")), "was taken over by"),
    ],
)
def test_a_holder_whose_lease_is_spoilt_stops(
    tmp_path: Path, spoil: Callable[[Path], None], why: str
) -> None:
    with hold(tmp_path, Holder.here(""), above=0, say=print) as (held, lost):
        held.check()
        spoil(held.path)
        with pytest.raises(LeaseLost, match=why):
            held.check()
        assert lost.wait(20)


def test_what_the_clocks_say_is_never_compared(tmp_path: Path) -> None:
    held = Lease(tmp_path, 1, "a")
    elsewhere = Holder.here("").model_copy(update={"machine": "elsewhere", "owner": "a"})
    held.path.write_text(elsewhere.model_dump_json())
    watch, now = LeaseWatch(), 1000.0
    for clock in (0, 4e9, 1e9, 2e9):  # renewed by a machine whose clock jumps
        os.utime(held.path, (clock, clock))
        claim = last_claim(tmp_path)
        assert claim is not None
        now += lease.LEASE_SECONDS - 1
        assert how_over(claim, watch.unchanged(claim, now)) is None
    assert how_over(claim, watch.unchanged(claim, now + lease.LEASE_SECONDS - 1)) is None
    unchanged = watch.unchanged(claim, now + lease.LEASE_SECONDS)
    assert how_over(claim, unchanged) == "it was not renewed for 90 s"


def test_a_process_of_another_machine_is_never_seen_to_be_gone() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    here = Holder.here("")
    gone = here.model_copy(update={"process": ended.pid})
    assert not here.is_gone() and gone.is_gone()
    assert here.model_copy(update={"started": here.started - 1}).is_gone(), "a later process"
    for machine in ("elsewhere", ""):
        assert not gone.model_copy(update={"machine": machine}).is_gone()
        assert how_over(LeaseClaim(1, gone.model_copy(update={"machine": machine}), 0), 0.0) is None


def test_a_number_is_never_used_twice(tmp_path: Path) -> None:
    names = []
    for above in (0, 0, 5):
        with hold(tmp_path, Holder.here(""), above=above, say=print) as (held, _):
            names.append(held.name.partition("-")[0])
            assert Lease.named(tmp_path, held.name) == held
    assert names == ["000001", "000002", "000006"]
    with pytest.raises(LeaseLost, match="its lease ended: given back"):
        held.check()


def test_what_is_left_when_the_leases_were_removed_is_taken_over(tmp_path: Path) -> None:
    state, _, _ = _overtake(tmp_path, [])
    for path in lease_folder(tmp_path).iterdir():
        path.unlink()
    again, _, _ = _overtake(tmp_path, [])
    assert again.attempt > state.attempt
    assert again.steps.read_text() == "by the second\n" * 2


def test_a_file_system_without_hard_links_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with (
        pytest.raises(UserError, match="its file system has no hard links .*work/ folder") as found,
        hold(tmp_path, Holder.here(""), above=0, say=print),
    ):
        pass
    assert str(tmp_path) in str(found.value)
    assert list(tmp_path.iterdir()) == []


def test_leaving_the_lease_ends_its_thread(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold(tmp_path, Holder.here(""), above=0, say=print):
        raise ZeroDivisionError
    assert "lease" not in {thread.name for thread in threading.enumerate()}
    assert (claim := last_claim(tmp_path)) and claim.holder and claim.holder.ended == "given back"
