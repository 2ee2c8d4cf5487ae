"""What the witnesses say: each is shown a world that the test makes, and a log that says something else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from logphase import testimony
from logphase.analyzer import Analyzer
from logphase.live import Frame
from logphase.testimony import Says
from logphase.verdict import State, Verdict, judge
from logphase.witness import Asked, call, weigh
from logphase.witness.canary import Canary, request, tell, worked
from logphase.witness.http import Address, Answer, Health, explain
from logphase.witness.http import ask as ask_http
from logphase.witness.port import Listener, PortOwner, listener
from logphase.witness.processes import Condition, Process, ProcessTree, Tree, Writers, at, look, naive, work, writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


HEAD = "[2026-11-30 01:00:00] server_args=ServerArgs(model_path='/m', host='127.0.0.1', port=31999, skip_server_warmup=False)\n"
LOADS = f"{HEAD}[2026-11-30 01:00:20] Init torch distributed begin.\n[2026-11-30 01:00:21] Load weight begin. avail mem=139.09 GB\n"
UP = f"{LOADS}[2026-11-30 01:00:30] max_total_num_tokens=1132162, chunked_prefill_size=8192\n"
UP += "[2026-11-30 01:00:31] INFO:     Uvicorn running on http://127.0.0.1:31999 (Press CTRL+C to quit)\n"
READY = f'{UP}[2026-11-30 01:00:33] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK\n'
READY += "[2026-11-30 01:00:33] The server is fired up and ready to roll!\n"
CRASHED = f"{READY}[2026-11-30 01:01:00] Scheduler hit an exception: Traceback (most recent call last):\nRuntimeError: x\n"
BARS = "/opt/site/sglang/launch_server.py:55: UserWarning: 'python -m sglang.launch_server' is still supported\n"
BARS += "\rMulti-thread loading shards:  50% Completed | 6/12 [00:00<00:00, 11.32it/s]\n"


def frame(text: str, silence_s: float = 0.0, earlier: str = "") -> Frame:
    """What a watch would show after reading this."""
    analyzer = Analyzer(engine="sglang")
    analyzer.feed(text.encode(), 1_000_000.0)
    timeline = analyzer.timeline()
    startup = timeline.startups[-1] if timeline.startups else None
    verdict = judge(startup) if startup else Verdict(State.UNSEEN, None, "", None, ())
    return Frame(time.time(), timeline, startup, verdict, None, 30.0, silence_s, 30.0, earlier)


def process(pid: int, title: str, *, condition: Condition = Condition.ALIVE, cpu_s: float = 1.0, born: float = 100.0) -> Process:
    """A process that is not there."""
    return Process(pid, born, title, condition, cpu_s)


class Trees:
    """Gives one tree after the other; the last one stays."""

    def __init__(self, *trees: Tree) -> None:
        self.trees = list(trees)

    def __call__(self, pid: int) -> Tree:
        """Look."""
        del pid
        return self.trees.pop(0) if len(self.trees) > 1 else self.trees[0]


ROOT = process(10, "python")
RANKS = tuple(process(20 + rank, f"sglang::scheduler_TP{rank}") for rank in range(8))


def said(witness: ProcessTree, shown: Frame, times: int = 1) -> list[tuple[Says, str]]:
    """What a witness says at the last of several asks."""
    found: Sequence[testimony.Testimony] = ()
    for _ in range(times):
        found = witness.ask(shown)
    return [(testimony.says, testimony.text) for testimony in found]


def settled(ask: Callable[[], Sequence[testimony.Testimony]], limit_s: float = 3.0) -> Sequence[testimony.Testimony]:
    """What a witness that asks in a thread says, once it says something."""
    end = time.monotonic() + limit_s
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_a_vanished_scheduler_is_gone_after_the_logs_own_time() -> None:
    """A rank that is no more is told when the log had its time to say so, by name, with the usual cause."""
    trees = Trees(Tree(0.0, ROOT, RANKS), Tree(0.5, ROOT, RANKS[:-1]), Tree(2.0, ROOT, RANKS[:-1]))
    witness = ProcessTree(at(10), look=trees, every_s=0)

    assert [] == said(witness, frame(LOADS), 2)
    ((says, text),) = said(witness, frame(LOADS))
    assert Says.GONE is says
    assert "sglang::scheduler_TP7 (pid 27) is gone" in text
    assert "dmesg" in text


def test_a_zombie_is_dead_although_its_pid_is_there() -> None:
    """A dead rank that its parent has not collected is told apart from a live one, by the title that it had."""
    zombie = replace(RANKS[3], title="sglang::schedul", condition=Condition.ZOMBIE)
    trees = Trees(Tree(0.0, ROOT, RANKS), Tree(0.5, ROOT, (zombie,)), Tree(2.0, ROOT, (*RANKS[:3], zombie, *RANKS[4:])))
    witness = ProcessTree(at(10), look=trees, every_s=0)

    ((says, text),) = said(witness, frame(LOADS), 3)

    assert Says.GONE is says
    assert "sglang::scheduler_TP3 (pid 23) is dead and not collected by its parent (a zombie)" in text


def test_a_pid_that_was_given_away_is_another_process() -> None:
    """A process that was born later under the same pid does not stand for the server."""
    stranger = process(10, "vim", born=500.0)
    witness = ProcessTree(at(10), look=Trees(Tree(0.0, ROOT), Tree(0.5, stranger), Tree(2.0, stranger)), every_s=0)

    ((says, text),) = said(witness, frame(LOADS), 3)

    assert Says.GONE is says
    assert "its pid belongs to another process now, vim" in text


def test_a_rank_that_died_before_anyone_looked_is_missed() -> None:
    """The log has eight ranks and the system seven: who is asked once can tell, too."""
    ranks = "".join(f"[2026-11-30 01:00:21 TP{rank}] Load weight begin. avail mem=139.09 GB\n" for rank in range(8))
    trees = Trees(Tree(0.0, ROOT, RANKS[:-1]), Tree(1.0, ROOT, RANKS[:-1]))

    ((says, text),) = said(ProcessTree(at(10), look=trees, every_s=0), frame(HEAD + ranks), 2)

    assert Says.GONE is says
    assert "There is no process sglang::scheduler_TP7" in text


def test_ranks_without_titles_are_not_missed() -> None:
    """Where no process has a rank's title, nothing can be told by it."""
    ranks = "".join(f"[2026-11-30 01:00:21 TP{rank}] Load weight begin. avail mem=139.09 GB\n" for rank in range(2))
    tree = Tree(0.0, ROOT, (process(20, "python -c from multiprocessing.spawn import spawn_main"),))

    assert [] == said(ProcessTree(at(10), look=Trees(tree, replace(tree, at=9.0)), every_s=0), frame(HEAD + ranks), 2)


def test_the_logs_own_word_about_a_death_is_enough() -> None:
    """A process that is gone when the log has told why adds nothing."""
    witness = ProcessTree(at(10), look=Trees(Tree(0.0, ROOT), Tree(2.0, None), Tree(4.0, None)), every_s=0)

    assert [] == said(witness, frame(CRASHED), 3)


def test_a_transient_helper_may_go() -> None:
    """A child without an engine's title, such as a compiler, is not missed."""
    trees = Trees(Tree(0.0, ROOT, (process(30, "nvcc -c a.cu"),)), Tree(1.0, ROOT), Tree(9.0, ROOT))

    assert [] == said(ProcessTree(at(10), look=trees, every_s=0), frame(LOADS), 3)


def test_a_stopped_rank_is_named_and_nothing_else_counts_as_work() -> None:
    """A rank in state T is a finding, although its peers spin on the CPU and wait for it."""
    before = Tree(0.0, ROOT, RANKS)
    spinning = tuple(replace(rank, cpu_s=rank.cpu_s + 9) for rank in RANKS[:-1])
    after = Tree(9.0, ROOT, (*spinning, replace(RANKS[-1], condition=Condition.STOPPED)))

    ((says, text),) = said(ProcessTree(at(10), look=Trees(before, after), every_s=0), frame(LOADS, 60.0), 2)

    assert Says.NOTE is says
    assert "sglang::scheduler_TP7 (pid 27) stopped (state T" in text
    assert "kill -CONT 27" in text


@pytest.mark.parametrize(
    ("title", "used", "phase", "silence", "expected"),
    [
        ("ninja -v", 3.0, "weights", 100.0, Says.BUSY),
        ("nvcc -c a.cu", 3.0, "target-graph", 100.0, Says.BUSY),
        ("cc1plus", 0.0, "target-graph", 100.0, Says.NOTE),
        ("python", 9.0, "target-graph", 100.0, Says.BUSY),
        ("python", 9.0, "target-graph", 99_999.0, None),
        ("python", 9.0, "weights", 100.0, None),
        ("python", 0.0, "target-graph", 100.0, Says.NOTE),
    ],
)
def test_cpu_time_and_compilers_tell_work_from_a_stall(title: str, used: float, phase: str, silence: float, expected: Says | None) -> None:
    """Compilers that run are work in any phase; bare CPU time only where kernels are compiled, and not for ever."""
    before = Tree(0.0, ROOT, (process(30, title, cpu_s=1.0),))
    after = Tree(10.0, ROOT, (process(30, title, cpu_s=1.0 + used),))

    found = work(before, after, phase, silence, 600.0)

    assert [expected] * (expected is not None) == [testimony.says for testimony in found]


def test_an_old_verdict_is_this_launchs_when_its_process_began_it() -> None:
    """A process that was started shortly before the first stamp wrote that startup; one that was started later did not."""
    shown = frame(READY, earlier="ready since 01:00")
    first = shown.timeline.startups[0].started.time
    assert first is not None
    shift = naive(0.0)

    for born, expected in ((first - shift - 20, [Says.LIVES]), (first - shift + 90, []), (first - shift - 9999, [])):
        root = process(10, "python", born=born)
        witness = ProcessTree(at(10), look=Trees(Tree(0.0, root)), every_s=0)
        assert expected == [says for says, _ in said(witness, shown)]
        writer = Writers("x.log", lambda _, root=root: [root])
        assert expected == [testimony.says for testimony in writer.ask(shown)]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A real process with a rank's title and a child of its own."""
    script = "import subprocess, time; subprocess.Popen(['sglang::scheduler_TP0', '60'], executable='/bin/sleep'); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    yield child
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def test_real_processes_are_seen_with_their_titles_and_conditions(sleeper: subprocess.Popen[bytes]) -> None:
    """The tree of a real process has its child's own title, and shows when it is stopped."""
    end = time.monotonic() + 5
    while "sglang::scheduler_TP0" not in [one.title for one in look(sleeper.pid).below] and time.monotonic() < end:
        time.sleep(0.02)
    tree = look(sleeper.pid)
    os.kill(tree.below[0].pid, signal.SIGSTOP)
    time.sleep(0.1)

    assert ["sglang::scheduler_TP0"] == [one.title for one in tree.below]
    assert Condition.ALIVE is tree.below[0].condition
    assert Condition.STOPPED is look(sleeper.pid).below[0].condition


def test_the_writer_of_a_log_is_found(tmp_path: Path) -> None:
    """Who has the file open for writing is found, who reads it is not."""
    log = tmp_path / "server.log"
    log.touch()
    command = [sys.executable, "-c", "import sys, time; print('up', flush=True); open(sys.argv[2], sys.argv[1]); time.sleep(60)"]
    command[2] = "import sys, time; file = open(sys.argv[2], sys.argv[1]); print('up', flush=True); time.sleep(60)"
    children = [subprocess.Popen([*command, mode, str(log)], stdout=subprocess.PIPE) for mode in ("a", "r")]
    try:
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()

        assert [children[0].pid] == [one.pid for one in writers(str(log))]
    finally:
        for child in children:
            child.kill()
            child.communicate()


# --- the port


@pytest.fixture
def bound() -> Iterator[socket.socket]:
    """A port of this machine on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_the_owner_of_a_port_is_found(bound: socket.socket) -> None:
    """The listener is this process, which is its own server and none of another's."""
    port = bound.getsockname()[1]

    ours, strange = listener(port, os.getpid()), listener(port, psutil.Process().ppid() + 1_000_000)

    assert ours is not None
    assert strange is not None
    assert (os.getpid(), True, False) == (ours.pid, ours.ours, strange.ours)
    assert listener(1, os.getpid()) is None


@pytest.mark.parametrize(
    ("text", "held", "expected"),
    [
        (LOADS, Listener(7, "python old.py", 100.0, ours=False), "held by python old.py (pid 7"),
        (READY, Listener(7, "python old.py", 100.0, ours=False), "The log says that HTTP is up, but port 31999 is held by"),
        (LOADS, Listener(None), "somebody listens on port 31999 already"),
        (LOADS, Listener(7, "docker-proxy -proto tcp", 100.0, ours=False), ""),
        (LOADS, None, ""),
        (READY, None, "nobody listens on port 31999: they disagree"),
        (READY, Listener(7, "python", 100.0, ours=True), ""),
        (CRASHED, None, ""),
    ],
)
def test_who_holds_the_port_is_told_when_it_is_not_this_server(text: str, held: Listener | None, expected: str) -> None:
    """A stale server, an unseen one and an empty port are findings; the server's own process and a forwarder are not."""
    witness = PortOwner(lambda _: 31999, lambda: 10, who=lambda _port, _root: held)

    found = settled(lambda: witness.ask(frame(text, 5.0)), 0.3)

    assert bool(expected) == bool(found)
    assert expected in "".join(testimony.text for testimony in found)


# --- health


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        (UP, Answer(503, 0.01), "503: not ready"),
        (UP, Answer(200, 0.01), "no proof of inference yet"),
        (READY, Answer(200, 1.0), "answers 200, as the log says"),
        (READY, Answer(200, 1.0), "empty body, takes at least 1.00 s"),
        (READY, Answer(503, 20.0), "they disagree"),
        (READY, Answer(404, 0.0), "not the engine's own port"),
        (READY, Answer(302, 0.0), "proxy"),
        (READY, Answer(None, 0.0, "the connection was refused"), "The log says ready, but"),
        (CRASHED, Answer(200, 0.0), "the log is believed"),
    ],
)
def test_a_status_is_told_beside_what_the_log_says(text: str, answer: Answer, expected: str) -> None:
    """The same status means another thing when the log says something else."""
    startup = frame(text).startup
    assert startup is not None

    assert expected in explain(Address("127.0.0.1", 31999), answer, startup)


def test_health_waits_for_the_logs_word_that_http_is_up() -> None:
    """No request is sent while the model loads."""
    asked: list[Address] = []
    witness = Health(Address("127.0.0.1", 31999), ask=lambda address: asked.append(address) or Answer(200, 1.0))

    witness.ask(frame(LOADS))

    assert [] == asked
    assert settled(lambda: witness.ask(frame(READY)))
    assert 1 == len(asked)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:30000", "http://127.0.0.1:30000/health"),
        ("127.0.0.1:30000/health_generate", "http://127.0.0.1:30000/health_generate"),
        ("https://[::1]:8443/", "https://[::1]:8443/health"),
    ],
)
def test_an_address_may_be_short(url: str, expected: str) -> None:
    """The scheme and the path have defaults."""
    assert expected == str(Address.parse(url))


@pytest.mark.parametrize("host", ["a b", "\x1b[31m\n", "a..b", "a" * 5000], ids=range(4))
def test_a_host_that_is_none_is_an_answer(host: str) -> None:
    """A log may name any host: what cannot be asked gives no answer and says why."""
    answer = ask_http(Address(host, 30000), 1.0)

    assert answer.status is None
    assert answer.trouble


@pytest.mark.parametrize("url", ["ftp://x/health", "http://", "http://x:99999/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    """A wrong address is a ValueError that says so."""
    with pytest.raises(ValueError, match=r"."):
        Address.parse(url)


def test_no_answer_is_a_result_not_an_error(bound: socket.socket) -> None:
    """A port that nobody listens on, and one that never answers, are told in words."""
    silent = ask_http(Address("127.0.0.1", bound.getsockname()[1]), 0.1)
    refused = ask_http(Address("127.0.0.1", 1), 0.5)

    assert "no answer within 0.1 s" == silent.trouble
    assert "the connection was refused" == refused.trouble


def test_what_was_answered_in_the_warm_up_is_asked_again_when_the_log_says_ready() -> None:
    """A 503 from before the ready line says nothing against it."""
    answers = [Answer(503, 0.0), Answer(200, 1.0)]
    witness = Health(Address("127.0.0.1", 31999), ask=lambda _: answers.pop(0))
    settled(lambda: witness.ask(frame(UP)))

    assert not witness.failed
    (found,) = settled(lambda: witness.ask(frame(READY)))
    assert "answers 200, as the log says" in found.text
    assert not witness.failed


# --- what they say, weighed


@pytest.mark.parametrize(
    ("text", "says", "state", "rule"),
    [
        (LOADS, Says.GONE, State.CRASHED, "witness:x"),
        (READY, Says.GONE, State.CRASHED, "witness:x"),
        (CRASHED, Says.GONE, State.CRASHED, "witness:x"),
        ("", Says.GONE, State.NEVER_STARTED, "witness:x"),
        ("", Says.READY, State.READY, "witness:x"),
        (LOADS, Says.READY, State.READY, "witness:x"),
        (CRASHED, Says.READY, State.CRASHED, "witness:x"),
        (LOADS, Says.NOTE, State.STARTING, ""),
    ],
)
def test_testimony_is_weighed_against_the_log(text: str, says: Says, state: State, rule: str) -> None:
    """A death is believed, inference proves readiness, a finding decides nothing; each that decides is evidence by its name."""
    verdict = weigh(frame(text).verdict, [_testimony(says)])

    assert state is verdict.state
    assert bool(rule) == (rule in [evidence.rule for evidence in verdict.evidence])


def _testimony(says: Says) -> testimony.Testimony:
    return testimony.Testimony("x", says, "It is so.")


# --- the canary


def test_the_canary_asks_what_the_engine_can_answer() -> None:
    """Each engine and kind of model has its own smallest request."""
    assert "/generate" == request("sglang", {})[0]
    assert "/encode" == request("sglang", {"is_embedding": True})[0]
    path, body = request("vllm", {"served_model_name": ["a", "b"]})
    assert "/v1/completions" == path
    assert b'"model": "a"' in body


def test_only_a_result_is_an_answer() -> None:
    """A 200 of a proxy's page is no inference."""
    assert worked(Answer(200, 0.1, body=b'{"text": "x"}'))
    assert not worked(Answer(200, 0.1, body=b"<html>welcome</html>"))
    assert not worked(Answer(200, 0.1, body=b""))
    assert not worked(Answer(502, 0.1, body=b'{"text": "x"}'))


@pytest.mark.parametrize(
    ("text", "answer", "says", "expected"),
    [
        (READY, Answer(200, 0.2, body=b'{"text": "x"}'), Says.READY, "as the log says"),
        (BARS, Answer(200, 0.2, body=b'{"text": "x"}'), Says.READY, "which the log could not prove"),
        (READY, Answer(500, 0.2), Says.NOTE, "The log says ready, but one real request was answered 500: they disagree"),
        (READY, Answer(200, 0.2, body=b"hello"), Says.NOTE, "200 without a result"),
        (READY, Answer(None, 0.2, "the connection was refused"), Says.NOTE, "got nothing: the connection was refused"),
    ],
)
def test_the_canarys_answer_is_told_beside_what_the_log_says(text: str, answer: Answer, says: Says, expected: str) -> None:
    """It proves inference, or disagrees with the log in its own words."""
    found = tell(answer, frame(text).startup)

    assert says is found.says
    assert expected in found.text


@pytest.mark.parametrize(
    ("text", "command", "held", "sends"),
    [
        (LOADS, {}, Listener(7, ours=True), False),  # the log will tell
        (UP, {}, Listener(7, ours=True), False),  # its own warm-up comes first
        (READY, {}, None, True),
        (CRASHED, {}, Listener(7, ours=True), False),
        (BARS, {"log_level": "warning"}, Listener(7, ours=True), True),
        (BARS, {"log_level": "warning"}, Listener(7, ours=False), False),  # a stale server's answer proves nothing
        (BARS, {"log_level": "warning"}, None, False),
        ("", {"log_level": "error"}, Listener(7, ours=True), True),
        ("", {}, Listener(7, ours=True), False),
    ],
)
def test_the_canary_is_sent_when_the_log_has_spoken_or_cannot(
    text: str,
    command: dict[str, object],
    held: Listener | None,
    sends: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It goes out after the log's own evidence; without any, only to the port of this very server."""
    sent: list[Address] = []
    monkeypatch.setattr("logphase.witness.canary.send", lambda base, *_: sent.append(base) or Answer(200, 0.1, body=b"[1]"))
    witness = Canary(Address("127.0.0.1", 31999), command, lambda: 10, who=lambda _port, _root: held)

    found = settled(lambda: witness.ask(frame(text)), 0.4)
    witness.ask(frame(text))

    assert sends == bool(found)
    assert int(sends) == len(sent)


def test_a_port_that_opened_while_it_was_watched_is_this_servers() -> None:
    """Without a pid, a port that was closed at first and open later is taken for the log's own."""
    held: list[Listener | None] = [None]
    witness = Canary(Address("127.0.0.1", 1), {}, lambda: None, who=lambda _port, _root: held[0], limit_s=0.2)

    assert () == tuple(settled(lambda: witness.ask(frame(BARS)), 0.3))
    held[0] = Listener(None)
    assert settled(lambda: witness.ask(frame(BARS)), 2.0)


def test_last_words_wait_for_an_answer_that_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is faster than a request: the end waits for what the user asked for."""

    def slow(*_: object) -> Answer:
        time.sleep(0.3)
        return Answer(500, 0.3)

    monkeypatch.setattr("logphase.witness.canary.send", slow)
    called = call(Asked(canary=True))

    found = called.last_words(frame(READY))

    assert ["canary"] == [testimony.witness for testimony in found]
    assert called.objects


def test_without_names_only_the_logs_writer_is_looked_for() -> None:
    """Nobody is asked whom the user did not name."""
    assert ["log-writer"] == [witness.name for witness in call(Asked(log="x.log")).all]
    assert ["processes", "port"] == [witness.name for witness in call(Asked(pid=1, log="x.log")).all]
    remote = Address("192.0.2.1", 30000)
    assert ["health", "canary"] == [witness.name for witness in call(Asked(health=remote, canary=True)).all]
