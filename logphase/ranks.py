"""Tags and numbers -> the ranks of a launch, in the order in which they spoke first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_RANKS = 1024


class Ranks:
    """Know the tags that lines carry (`TP3`, `DP1 TP0`), and which of them a bare number means."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self.lost = 0  # beyond MAX_RANKS

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def know(self, rank: str) -> None:
        """A line carries this tag."""
        if rank in self._known:
            return
        if len(self._known) < MAX_RANKS:
            self._known[rank] = None
        else:
            self.lost += 1

    def of_alias(self, alias: int | None) -> str | None:
        """The tag of a torch rank that a record is about."""
        return None if alias is None else self.by_number(alias)

    def by_number(self, number: int) -> str | None:
        """The tag of torch's rank N, or of the launcher's scheduler N; an alias itself proves a rank only beyond the first."""
        tag = f"TP{number}"
        fitting = [rank for rank in self._known if tag in rank.split()]
        if len(fitting) == 1:
            return fitting[0]
        if not self._known and number > 0:
            self.know(tag)
            return tag
        plain = bool(self._known) and all(rank.startswith("TP") and " " not in rank for rank in self._known)
        return tag if plain and not fitting else None
