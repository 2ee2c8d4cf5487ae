"""Frames -> systemd: READY=1 when the server is ready, STATUS= while it starts, and more time as long as there is progress.

The protocol is one datagram to the socket that NOTIFY_SOCKET names. Without that variable nothing happens.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableMapping

EVERY_S = 5.0
EXTEND_S = 60  # beyond the next report; so TimeoutStartSec= counts from the last progress


class Service:
    """The unit's notifications. The variable is taken out of the environment: the server itself must not speak for the unit."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        name = environment.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        self._last = 0.0
        self._status = ""
        self._ready = False

    def status(self, text: str, *, moves: bool) -> None:
        """Say what is going on; `moves`: the startup makes progress, so it may have more time."""
        now = time.monotonic()
        if text == self._status and (self._ready or now - self._last < EVERY_S):
            return
        self._last, self._status = now, text
        more = f"\nEXTEND_TIMEOUT_USEC={EXTEND_S * 1_000_000}" if moves and not self._ready else ""
        self._send(f"STATUS={_line(text)}{more}")

    def ready(self, text: str) -> None:
        """The server is ready; said once."""
        if not self._ready:
            self._ready, self._status = True, text
            self._send(f"READY=1\nSTATUS={_line(text)}")

    def stopping(self, text: str) -> None:
        """The server is about to end."""
        self._send(f"STOPPING=1\nSTATUS={_line(text)}")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            try:
                sender.connect(self._address)
                sender.send(text.encode())
            except OSError:
                self._address = ""  # nobody listens any more: a service manager that is gone is no reason to end


def _line(text: str) -> str:
    return " ".join(text.split())
