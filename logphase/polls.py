"""Access lines -> who asks whether the server is up, since when, and until when.

Law of this file: only paths that ask for health count; metrics scrapes and requests for work do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logphase.timeline import Moment, Poller

if TYPE_CHECKING:
    from collections.abc import Mapping

HEALTH = frozenset({"/health", "/health_generate", "/healthz", "/ping", "/ready", "/readyz", "/livez"})
MOST = 16  # clients that are kept
OK = 200


class Polls:
    """Feed the values of access lines; each client's addresses are told apart, its ports are not."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[float | None, int, bool]]] = {}  # first refused, last refused, first healthy, last healthy
        self._counts: dict[str, list[int]] = {}

    def feed(self, values: Mapping[str, object], time: float | None, line: int) -> None:
        """Take one access line."""
        if str(values.get("path", "")).rstrip("/") not in HEALTH:
            return
        client = str(values.get("client", "")).rpartition(":")[0]
        healthy = values.get("status") == OK
        if client not in self._seen:
            if len(self._seen) >= MOST:
                return
            self._seen[client], self._counts[client] = [], [0, 0]
        kept = self._seen[client]
        self._counts[client][healthy] += 1
        if len(kept) > 1 and kept[-1][2] == healthy and kept[-2][2] == healthy:
            kept.pop()
        kept.append((time, line, healthy))
        if len(kept) > 2 * MOST:
            del kept[MOST]

    def move(self, by: float) -> None:
        """Put them on another clock: `by` seconds earlier."""
        for kept in self._seen.values():
            kept[:] = [(None if time is None else time - by, line, healthy) for time, line, healthy in kept]

    def pollers(self, zero: float | None, *, dated: bool) -> tuple[Poller, ...]:
        """Each client, in the order in which they first asked."""

        def moment(at: tuple[float | None, int, bool]) -> Moment:
            time, line, _ = at
            after = None if time is None or zero is None else max(0.0, time - zero)
            return Moment(time if dated else None, line, "log", after)

        found = []
        for client, kept in self._seen.items():
            healthy = next((at for at in kept if at[2]), None)
            refused, answered = self._counts[client]
            found.append(Poller(client, refused, answered, moment(kept[0]), moment(healthy) if healthy else None, moment(kept[-1])))
        return tuple(found)
