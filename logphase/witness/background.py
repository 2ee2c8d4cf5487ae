"""A slow question -> its newest answer, asked in a thread of its own, so that a witness never holds up the log."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class Asked(Generic[Answer]):
    """Ask at most every `every_s` seconds and one at a time; None: once only."""

    def __init__(self, question: Callable[[], Answer], every_s: float | None) -> None:
        self._question = question
        self._every_s = every_s
        self._asked_at: float | None = None
        self._thread: threading.Thread | None = None
        self.answer: Answer | None = None

    @property
    def open(self) -> bool:
        """Whether a question is out without an answer."""
        return self._thread is not None and self._thread.is_alive()

    def ask(self) -> Answer | None:
        """Give the newest answer; ask again when it is time."""
        due = self._asked_at is None or (self._every_s is not None and time.monotonic() - self._asked_at >= self._every_s)
        if due and not self.open:
            self._asked_at = time.monotonic()
            self._thread = threading.Thread(target=self._run, name="logphase-witness", daemon=True)
            self._thread.start()
        return self.answer

    def _run(self) -> None:
        self.answer = self._question()
