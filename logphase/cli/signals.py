"""Signals -> who takes them: `watch` to tell the last state, `run` to pass them on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    Taker: TypeAlias = Callable[[int, FrameType | None], object]


class Caught:
    """Signals, for as long as it is entered: what comes before somebody takes them is given to him then. An ignored one stays ignored."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = tuple(numbers)
        self._taker: Taker | None = None
        self._early: list[int] = []
        self._before: dict[int, signal.Handlers | int | Taker | None] = {}

    def __enter__(self) -> Self:
        heard = [number for number in self._numbers if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def give_to(self, taker: Taker) -> None:
        """From now on a signal is his."""
        self._taker = taker
        while self._early:
            taker(self._early.pop(0), None)

    def release(self) -> None:
        """Put back what was before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._taker is None:
            self._early.append(number)
        else:
            self._taker(number, frame)
