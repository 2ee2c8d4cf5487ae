"""Errors that a user may see: what went wrong, and what to type next.

    LogphaseError          message, hint
    ├── RuleError          a rule file is wrong (where)
    └── SourceError        the input cannot be read
"""

from __future__ import annotations


class LogphaseError(Exception):
    """An error with a remedy. `message` says what and where, `hint` what to do; both are one or two sentences."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class RuleError(LogphaseError):
    """A rule file breaks its promises; `where` is file and key path."""

    def __init__(self, message: str, hint: str = "", where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message, hint)
        self.where = where


class SourceError(LogphaseError):
    """The input cannot be read."""
