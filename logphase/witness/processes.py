"""A process and what it has started -> what they do while the log is silent.

A process is its pid and its birth: a pid that was given away again is another process. Law of this file: psutil is imported where the
system is asked (`look`, `writers`); what a sighting means is decided by functions that a test can feed.
"""

from __future__ import annotations

import calendar
import os
import re
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from logphase.testimony import Says, Testimony

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import psutil

    from logphase.live import Frame
    from logphase.timeline import Startup

NAME = "processes"
LOOK_S = 0.5
LOOK_MOST_S = 2.0
COST_SHARE = 50.0  # a look that takes long, among thousands of processes, is taken less often
GRACE_S = 0.7  # the log's own words about a death come first
SILENT_S = 5.0  # before that nobody asks whether it works
MOVES = 0.02  # CPU seconds a second that count as work
WORKS = 0.5
PATIENT = 3.0  # budgets that moving CPU time alone may stretch: ranks that wait for a lost one spin, too
BORN_WITHIN_S = 900.0  # a launch's first stamp comes within this
BOOT_S = 2.0  # births are counted from the boot, whose moment is known to a second or so

COMPILERS = frozenset(
    {"ninja", "nvcc", "cicc", "cc1plus", "cc1", "ptxas", "cudafe++", "fatbinary", "nvlink", "c++", "g++", "clang", "clang++"}
)
ESSENTIAL = re.compile(r"sglang::(?:schedul|detoken|data_par)|VLLM::(?:EngineCor|Worker)", re.IGNORECASE)
COMPILING = re.compile(r"-graph$|^(?:launch|spawn|kernel-warmup|warmup)$")
KILLER = " A common cause is the kernel's out-of-memory killer: dmesg -T | grep -i oom."


class Condition(StrEnum):
    """What a process does."""

    ALIVE = "alive"
    STOPPED = "stopped"  # state T: SIGSTOP or a debugger
    ZOMBIE = "zombie"  # dead, and not collected by its parent


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment."""

    pid: int
    born: float
    title: str
    condition: Condition
    cpu_s: float

    @property
    def key(self) -> tuple[int, float]:
        """What tells it from another one that got its pid later."""
        return self.pid, self.born

    def __str__(self) -> str:
        return f"{self.title} (pid {self.pid})"


@dataclass(frozen=True, slots=True)
class Tree:
    """A process and all below it. `root` is None when it is gone."""

    at: float
    root: Process | None
    below: tuple[Process, ...] = ()

    @property
    def all(self) -> tuple[Process, ...]:
        """Root and all below."""
        return (self.root, *self.below) if self.root else self.below


def look(pid: int) -> Tree:
    """Look at a process and all below it."""
    import psutil

    at = time.monotonic()
    try:
        root = psutil.Process(pid)
        below = root.children(recursive=True)
    except psutil.NoSuchProcess:
        return Tree(at, None)
    seen = [_sight(process) for process in below]
    return Tree(at, _sight(root), tuple(process for process in seen if process is not None))


def look_at_session(leader: int) -> Tree:
    """Look at the leader of a session and all below it; when it has ended, at what it left behind in its session."""
    import psutil

    tree = look(leader)
    if tree.root is not None:
        return tree
    left = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == leader:
                left.append(_sight(psutil.Process(pid)))
        except (OSError, psutil.Error):
            continue
    return Tree(tree.at, None, tuple(process for process in left if process is not None))


def _sight(process: psutil.Process) -> Process | None:
    import psutil

    try:
        with process.oneshot():
            state = process.status()
            dead = state in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            stopped = state == psutil.STATUS_STOPPED
            condition = Condition.ZOMBIE if dead else Condition.STOPPED if stopped else Condition.ALIVE
            times = process.cpu_times()
            return Process(process.pid, process.create_time(), title(process), condition, times.user + times.system)
    except psutil.NoSuchProcess:
        return None


def title(process: psutil.Process) -> str:
    """What a process calls itself: the title that an engine sets, else its program's name and first arguments."""
    import psutil

    try:
        words = process.cmdline()
        name = process.name()
    except psutil.ZombieProcess:
        return process.name()
    except psutil.AccessDenied:
        return process.name()
    if not words or "::" in words[0]:
        return words[0].split()[0] if words else name
    text = " ".join([os.path.basename(words[0]), *words[1:]])  # noqa: PTH119 - a command need not be a path
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - fits a sentence


def writers(path: str) -> list[Process]:
    """The processes that have a file open for writing, as far as this user may see them."""
    import psutil

    found = []
    real = os.path.realpath(path)
    for process in psutil.process_iter():
        try:
            files = process.open_files()
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(file.path == real and set(getattr(file, "mode", "w")) & set("wa+") for file in files):
            sighting = _sight(process)
            found += [sighting] if sighting else []
    return found


def since(path: str, started: float) -> list[int]:
    """Who writes a file and lives since a moment: what a command has started that left its session, a daemon, too."""
    return [one.pid for one in writers(path) if one.born >= started - BOOT_S and one.condition is not Condition.ZOMBIE]


def naive(epoch: float) -> float:
    """A moment of the wall clock on a naive local clock as logs use it."""
    return calendar.timegm(time.localtime(epoch)) + epoch % 1


def launched(born: float, startup: Startup) -> bool:
    """Whether a process that was born then can be the one that wrote this startup: before its first stamp, and not long before."""
    first = startup.started.time
    return first is not None and -1.0 <= first - naive(born) <= BORN_WITHIN_S


class ProcessTree:
    """The witness: asks the system at most every half second, and remembers who was there.

    `first`: whether the first process's own end is this witness's to tell; `run` knows more about it (see `exit`).
    """

    name = NAME

    def __init__(
        self, find: Callable[[Frame], int | None], *, look: Callable[[int], Tree] = look, first: bool = True, every_s: float = LOOK_S
    ) -> None:
        self._first = first
        self._find = find
        self._look = look
        self._every_s = every_s
        self._next = 0.0
        self._pid: int | None = None
        self._before: Tree | None = None
        self._known: dict[tuple[int, float], Process] = {}
        self._missed: dict[tuple[int, float], float] = {}
        self._absent_since: float | None = None
        self._said: tuple[Testimony, ...] = ()

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Say what the processes do."""
        if self._pid is None:
            self._pid = self._find(frame)
        began = time.monotonic()
        if self._pid is None or began < self._next:
            return self._said
        tree = self._look(self._pid)
        cost_s = time.monotonic() - tree.at if self._before else 0.0  # the first one opens what the others find open
        self._next = began + max(self._every_s, min(LOOK_MOST_S, COST_SHARE * cost_s) if self._every_s else 0.0)
        self._said = tuple(self._judge(tree, frame))
        self._before = tree
        return self._said

    @property
    def pid(self) -> int | None:
        """The root, once it is known."""
        return self._pid

    def _judge(self, tree: Tree, frame: Frame) -> list[Testimony]:
        startup = frame.startup
        told = startup is not None and (startup.cause is not None or startup.stopped is not None)
        gone = [] if told else self._gone(tree) or self._absent(tree, startup)
        if gone:
            return gone
        lives = f"{tree.root} was started before this startup's first line and still runs."
        found = [Testimony(NAME, Says.LIVES, lives)] if self._lives(tree, frame) else []
        stopped = [process for process in tree.all if process.condition is Condition.STOPPED]
        if stopped:
            names = ", ".join(map(str, stopped[:4]))
            pids = " ".join(str(process.pid) for process in stopped[:64])
            text = f"{names} stopped (state T: SIGSTOP or a debugger), so nothing will move; kill -CONT {pids} lets go on."
            return [*found, Testimony(NAME, Says.NOTE, text)]
        if frame.silence_s < SILENT_S or self._before is None or startup is None:
            return found
        return [*found, *work(self._before, tree, startup.current or "launch", frame.silence_s, startup.budget_s)]

    def _lives(self, tree: Tree, frame: Frame) -> bool:
        last = frame.timeline.startups[-1] if frame.timeline.startups else None
        return bool(frame.earlier) and last is not None and tree.root is not None and launched(tree.root.born, last)

    def _absent(self, tree: Tree, startup: Startup | None) -> list[Testimony]:
        """Ranks that the log has and the system has not, although it has others: they died before anyone looked."""
        titles = {f"sglang::scheduler_{rank.replace(' ', '_')}": rank for rank in startup.ranks} if startup is not None else {}
        there = {process.title for process in tree.all if process.condition is not Condition.ZOMBIE}
        lost = [title for title in titles if title not in there] if there & titles.keys() else []
        if not lost:
            self._absent_since = None
            return []
        self._absent_since = tree.at if self._absent_since is None else self._absent_since
        if tree.at - self._absent_since < GRACE_S:
            return []
        names = ", ".join(lost[:4])
        return [Testimony(NAME, Says.GONE, f"There is no process {names}, and the log has no line about its end.{KILLER}")]

    def _gone(self, tree: Tree) -> list[Testimony]:
        """Who was there and is not any more, when the log had its time to say so itself."""
        now = tree.at
        alive = {process.key for process in tree.all if process.condition is not Condition.ZOMBIE}
        for process in tree.all:
            known = self._known.get(process.key)
            if known is None or process.condition is not Condition.ZOMBIE:
                self._known[process.key] = process
        first = next((process for process in self._known.values() if process.pid == self._pid), None)
        needed = [process for process in self._known.values() if (process is first and self._first) or ESSENTIAL.search(process.title)]
        if first is None:
            if not self._first:
                return []
            return [Testimony(NAME, Says.GONE, f"There is no process {self._pid}.")]
        self._missed = {process.key: self._missed.get(process.key, now) for process in needed if process.key not in alive}
        lost = [process for process in needed if now - self._missed.get(process.key, now) >= GRACE_S]
        return [Testimony(NAME, Says.GONE, _obituary(lost, first, tree))] if lost else []


def _obituary(lost: list[Process], first: Process, tree: Tree) -> str:
    names = ", ".join(map(str, lost[:4])) + (f" and {len(lost) - 4} more" if len(lost) > 4 else "")  # noqa: PLR2004 - a sentence
    zombie = any(process.condition is Condition.ZOMBIE and process.key in {gone.key for gone in lost} for process in tree.all)
    how = "dead and not collected by its parent (a zombie)" if zombie and len(lost) == 1 else "gone"
    if first in lost and tree.root is not None and tree.root.key != first.key:
        return f"{first} is gone: its pid belongs to another process now, {tree.root.title}."
    verb = "is" if len(lost) == 1 else "are"
    hint = "" if first in lost else KILLER
    return f"{names} {verb} {how}, and the log has no line about it.{hint}"


def work(before: Tree, tree: Tree, phase: str, silence_s: float, budget_s: float) -> list[Testimony]:
    """Whether silence is work: compilers that run, or CPU time that moves in a phase that compiles inside the process."""
    passed = tree.at - before.at
    if passed <= 0 or not tree.all:
        return []
    used = _used(before, tree)
    compilers = sorted({_program(process) for process in tree.below if _program(process) in COMPILERS})
    total = sum(used.values())
    if compilers and total >= MOVES * passed:
        names = " and ".join([", ".join(compilers[:-1]), compilers[-1]] if len(compilers) > 1 else compilers)
        return [Testimony(NAME, Says.BUSY, f"{names} run below it and use CPU time: it compiles kernels, which prints nothing.")]
    if total < MOVES * passed:
        return [Testimony(NAME, Says.NOTE, f"Silent, and none of its {len(tree.all)} processes uses CPU time: it waits for something.")]
    if total >= WORKS * passed and COMPILING.search(phase) and silence_s <= PATIENT * budget_s:
        return [Testimony(NAME, Says.BUSY, "Silent, and its processes use CPU time: kernels are compiled or modules imported inside them.")]
    return []


def _used(before: Tree, tree: Tree) -> Mapping[tuple[int, float], float]:
    known = {process.key: process.cpu_s for process in before.all}
    return {process.key: max(0.0, process.cpu_s - known.get(process.key, 0.0)) for process in tree.all}


def _program(process: Process) -> str:
    return process.title.partition(" ")[0]


class Writers:
    """The witness for a log that holds an earlier startup: the process that writes it began that very startup, so it is not earlier."""

    name = "log-writer"

    def __init__(self, path: str, find: Callable[[str], Sequence[Process]] = writers) -> None:
        self._path = path
        self._find = find
        self._asked = False
        self._said: tuple[Testimony, ...] = ()

    def ask(self, frame: Frame) -> Sequence[Testimony]:
        """Look once, when there is an earlier startup."""
        if self._asked or not frame.earlier or not frame.timeline.startups:
            return self._said
        self._asked = True
        last = frame.timeline.startups[-1]
        found = [process for process in self._find(self._path) if launched(process.born, last)]
        if found:
            text = f"{found[0]} writes this log and was started before this startup's first line: it is the one that runs."
            self._said = (Testimony(self.name, Says.LIVES, text),)
        return self._said


def at(pid: int) -> Callable[[Frame], int | None]:
    """A finder for a pid that is known."""
    return cast("Callable[[Frame], int | None]", lambda _frame: pid)
