"""Entries <-> an SQLite file in the user's state directory, which many processes write at once.

Law of this file: what `remember` confirmed is on the disk; what is wrong with the file is a HistoryError with a remedy, never anything
else; a damaged or newer file is left as it is. A step of the schema is one entry of STEPS, and none is ever changed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Self

from logphase.errors import LogphaseError
from logphase.history import READY, Entry, Kept
from logphase.likeness import Likeness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

BUSY_S = 5.0  # that a writer waits for the others
STEPS = (
    """
    CREATE TABLE startups (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        identity TEXT NOT NULL UNIQUE,
        remembered REAL NOT NULL,
        started REAL,
        source TEXT NOT NULL,
        state TEXT NOT NULL,
        total_s REAL,
        failed_in TEXT,
        engine TEXT NOT NULL,
        model TEXT NOT NULL,
        version TEXT NOT NULL,
        host TEXT NOT NULL,
        warmth TEXT,
        topology TEXT NOT NULL,
        flags TEXT NOT NULL,
        alike TEXT NOT NULL,
        arguments TEXT NOT NULL,
        ranks TEXT NOT NULL
    );
    CREATE INDEX startups_alike ON startups (alike, state, number);
    CREATE INDEX startups_model ON startups (engine, model, state, number);
    CREATE TABLE phases (
        startup INTEGER NOT NULL REFERENCES startups (number) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        phase TEXT NOT NULL,
        title TEXT NOT NULL,
        status TEXT NOT NULL,
        start_s REAL,
        end_s REAL,
        duration_s REAL,
        ranks TEXT NOT NULL,
        curve TEXT NOT NULL,
        total INTEGER,
        unit TEXT NOT NULL,
        PRIMARY KEY (startup, position)
    ) WITHOUT ROWID;
    """,
)
"""The schema: what each version added to the one before. `PRAGMA user_version` is how many of them a file has."""

_STARTUP = (
    "identity", "remembered", "started", "source", "state", "total_s", "failed_in", "engine", "model", "version", "host", "warmth",
    "topology", "flags", "alike", "arguments", "ranks",
)  # fmt: skip
_PHASE = ("startup", "position", "phase", "title", "status", "start_s", "end_s", "duration_s", "ranks", "curve", "total", "unit")


class HistoryError(LogphaseError):
    """The history cannot be used: why, and what to do. Nothing that is watched fails by it."""


class Store:
    """The history in a file, which is made at the first `remember`. Use it in a `with`.

    Raises:
        HistoryError: by every method, when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._writes = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- writing

    def remember(self, kept: Entry) -> bool:
        """Keep an entry; False where the same startup is kept already. When this returns, it is on the disk.

        A startup that was kept as failed and turns out to be ready takes its own place.
        """
        with self._trouble(), self._transaction() as connection:
            held = connection.execute("SELECT number, state FROM startups WHERE identity = ?", (kept.identity,)).fetchone()
            if held is not None and (held[1] == READY or kept.state != READY):
                return False
            if held is not None:
                connection.execute("DELETE FROM startups WHERE number = ?", (held[0],))
            number = connection.execute(_insert("startups", _STARTUP), _startup_row(kept)).lastrowid
            rows = [(number, position, *_phase_row(phase)) for position, phase in enumerate(kept.phases)]
            connection.executemany(_insert("phases", _PHASE), rows)
        return True

    def forget(self, numbers: Sequence[int]) -> int:
        """Take entries out; give how many were there."""
        with self._trouble(), self._transaction() as connection:
            found = connection.executemany("DELETE FROM startups WHERE number = ?", [(number,) for number in numbers])
            return found.rowcount

    # --- reading

    def alike(self, wanted: Likeness, most: int) -> list[tuple[Likeness, int]]:
        """Startups that became ready and differ in version and caches at most, newest first."""
        return self._likenesses("alike = ? AND state = ?", (wanted.key, READY), most)

    def same_model(self, wanted: Likeness, most: int) -> list[tuple[Likeness, int]]:
        """Startups of the same model that became ready, newest first."""
        return self._likenesses("engine = ? AND model = ? AND state = ?", (wanted.engine, wanted.model, READY), most)

    def entries(self, numbers: Iterable[int] | None = None, *, most: int | None = None) -> list[Entry]:
        """Entries by number, or all (the newest `most`), oldest first."""
        wanted = None if numbers is None else list(dict.fromkeys(numbers))
        if not self._exists() or wanted == []:
            return []
        with self._trouble():
            connection = self._open(write=False)
            if wanted is None:
                limit = -1 if most is None else most
                query = f"SELECT number, {', '.join(_STARTUP)} FROM startups ORDER BY number DESC LIMIT ?"  # noqa: S608 - our own names
                rows = connection.execute(query, (limit,)).fetchall()[::-1]
            else:
                query = f"SELECT number, {', '.join(_STARTUP)} FROM startups WHERE number = ?"  # noqa: S608
                rows = [row for number in sorted(wanted) for row in connection.execute(query, (number,))]
            return [_entry(row, connection.execute(_PHASES_OF, (row[0],)).fetchall()) for row in rows]

    def count(self) -> int:
        """How many entries there are."""
        if not self._exists():
            return 0
        with self._trouble():
            return int(self._open(write=False).execute("SELECT count(*) FROM startups").fetchone()[0])

    def _likenesses(self, condition: str, values: tuple[object, ...], most: int) -> list[tuple[Likeness, int]]:
        if not self._exists():
            return []
        names = "engine, model, version, topology, flags, host, warmth, number"
        query = f"SELECT {names} FROM startups WHERE {condition} ORDER BY number DESC LIMIT ?"  # noqa: S608 - our own words
        with self._trouble():
            rows = self._open(write=False).execute(query, (*values, most)).fetchall()
            return [(_likeness(*row[:7]), row[7]) for row in rows]

    # --- the file

    def _exists(self) -> bool:
        return self._connection is not None or self.path.is_file()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._open(write=True)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _open(self, *, write: bool) -> sqlite3.Connection:
        if self._connection is not None and (self._writes or not write):
            return self._connection
        self.close()
        self._connection = self._for_writing() if write else self._for_reading()
        self._writes = write
        return self._connection

    def _for_writing(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            _wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _for_reading(self) -> sqlite3.Connection:
        """Open without writing; a file of an older schema is brought forward first, and one on a read-only disk is read as it is."""
        uri = self.path.absolute().as_uri()
        for form in (f"{uri}?mode=ro", f"{uri}?immutable=1"):
            connection = sqlite3.connect(form, timeout=BUSY_S, isolation_level=None, uri=True)
            try:
                version = self._version(connection)
            except sqlite3.OperationalError:
                connection.close()
                continue
            except BaseException:
                connection.close()
                raise
            if version == len(STEPS):
                return connection
            connection.close()
            return self._for_writing()
        raise HistoryError(f"the history {self.path} cannot be read", _switch_off("Look at its permissions with ls -l"))

    def _version(self, connection: sqlite3.Connection) -> int:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(STEPS):
            raise HistoryError(
                f"the history {self.path} is of a newer logphase (schema {version}, this one knows {len(STEPS)})",
                _switch_off("Update logphase, or name another folder in LOGPHASE_HISTORY"),
            )
        return version

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        if self._version(connection) == len(STEPS):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            for number in range(self._version(connection), len(STEPS)):  # asked again: another process may have been faster
                for statement in filter(str.strip, STEPS[number].split(";")):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(STEPS)}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """What the database or the disk complains of, with a remedy."""
        try:
            yield
        except sqlite3.OperationalError as error:
            advice = f"Look at it and its folder with ls -l {self.path.parent}, and at the disk with df"
            raise HistoryError(f"the history {self.path} cannot be used: {error}", _switch_off(advice)) from error
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            advice = f"Move it away, a new one is begun: mv {self.path} {self.path}.damaged"
            raise HistoryError(f"the history {self.path} is damaged: {error}", _switch_off(advice)) from error
        except OSError as error:
            advice = "Make the folder writable, or name another one in LOGPHASE_HISTORY"
            raise HistoryError(f"the history {self.path} cannot be used: {error.strerror}", _switch_off(advice)) from error


def _switch_off(advice: str) -> str:
    return f"{advice}. LOGPHASE_HISTORY=off does without."


def _wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; while others open the file at the same moment SQLite may refuse, and waits for none."""
    end = time.monotonic() + BUSY_S
    while True:
        try:
            with closing(connection.execute("PRAGMA journal_mode = WAL")) as answer:
                answer.fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _insert(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - our own names


_PHASES_OF = f"SELECT {', '.join(_PHASE[2:])} FROM phases WHERE startup = ? ORDER BY position"  # noqa: S608


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _startup_row(kept: Entry) -> tuple[object, ...]:
    alike = kept.likeness
    return (
        kept.identity, kept.remembered, kept.started, kept.source, kept.state, kept.total_s, kept.failed_in, alike.engine, alike.model,
        alike.version, alike.host, alike.warmth, _text(dict(alike.topology)), _text(dict(alike.flags)), alike.key,
        _text(dict(kept.arguments)), _text(kept.ranks),
    )  # fmt: skip


def _phase_row(phase: Kept) -> tuple[object, ...]:
    return (
        phase.id, phase.title, phase.status, phase.start_s, phase.end_s, phase.duration_s, _text(dict(phase.ranks)), _text(phase.curve),
        phase.total, phase.unit,
    )  # fmt: skip


def _likeness(*row: Any) -> Likeness:  # noqa: ANN401 - a row of the database
    engine, model, version, topology, flags, host, warmth = row
    return Likeness(engine, model, version, json.loads(topology), json.loads(flags), host, warmth)


def _entry(row: Sequence[Any], phases: Iterable[Sequence[Any]]) -> Entry:
    at = dict(zip(("number", *_STARTUP), row, strict=True))
    alike = _likeness(*(at[name] for name in ("engine", "model", "version", "topology", "flags", "host", "warmth")))
    return Entry(
        number=at["number"],
        identity=at["identity"],
        remembered=at["remembered"],
        started=at["started"],
        source=at["source"],
        state=at["state"],
        total_s=at["total_s"],
        failed_in=at["failed_in"],
        likeness=alike,
        arguments=json.loads(at["arguments"]),
        ranks=tuple(json.loads(at["ranks"])),
        phases=tuple(_kept(phase) for phase in phases),
    )


def _kept(row: Sequence[Any]) -> Kept:
    phase, title, status, start_s, end_s, duration_s, ranks, curve, total, unit = row
    points = tuple((float(elapsed), int(done)) for elapsed, done in json.loads(curve))
    return Kept(phase, title, status, start_s, end_s, duration_s, json.loads(ranks), points, total, unit)
