"""Compressed bytes -> the bytes of the log. Recognized by its first bytes, never by its name; memory stays flat however much it expands."""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from logphase.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader, FileIO

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_INPUT = 1 << 16
_GZIP_HEADER = 31


class Damaged(Exception):  # noqa: N818 (what happened to the file; the sources turn it into a change or an error)
    """The compressed data cannot be expanded any further."""


def kind_of(magic: bytes) -> str | None:
    """Name the compression that a file's first bytes announce."""
    return next((kind for start, kind in _MAGIC.items() if magic.startswith(start)), None)


def expand(source: str, reader: BufferedReader[FileIO], kind: str, size: int) -> Iterator[bytes]:
    """Expand to blocks of at most `size` bytes; raises Damaged after everything that could be expanded."""
    return _gunzip(reader, size) if kind == "gzip" else _unzstd(source, reader, size)


def _gunzip(reader: BufferedReader[FileIO], size: int) -> Iterator[bytes]:
    member, pending = zlib.decompressobj(_GZIP_HEADER), b""
    try:
        while pending or (pending := reader.read1(_INPUT)):
            if member.eof:
                pending = pending.lstrip(b"\0")
                member = zlib.decompressobj(_GZIP_HEADER)
            if data := member.decompress(pending, size):
                yield data
            pending = member.unused_data if member.eof else member.unconsumed_tail
    except zlib.error as error:
        message = f"the gzip data is damaged ({error})"
        raise Damaged(message) from error
    if not member.eof:
        message = "the gzip data ends early: the file was cut"
        raise Damaged(message)


def _unzstd(source: str, reader: BufferedReader[FileIO], size: int) -> Iterator[bytes]:
    stream, errors = _zstd_stream(source, reader)
    try:
        while data := cast("bytes", stream.read(size)):
            yield data
    except errors as error:
        message = f"the zstd data is damaged ({error})"
        raise Damaged(message) from error


def _zstd_stream(source: str, reader: BufferedReader[FileIO]) -> tuple[Any, tuple[type[Exception], ...]]:
    """Open zstd data with the standard library (Python 3.14) or with the package zstandard."""
    try:
        zstd = import_module("compression.zstd")
    except ImportError:
        pass
    else:
        return zstd.ZstdFile(reader), (zstd.ZstdError, EOFError)
    try:
        zstandard = import_module("zstandard")
    except ImportError as error:
        hint = f"Run `pip install zstandard`, or `zstd -dc {source} | logphase report -`."
        raise SourceError(f"{source} is compressed with zstd, which this Python cannot read", hint) from error
    return zstandard.ZstdDecompressor().stream_reader(reader, read_across_frames=True), (zstandard.ZstdError,)
