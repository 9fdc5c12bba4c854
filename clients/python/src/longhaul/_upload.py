"""Bodies of requests: JSON, forms, and files that are never held in memory as a whole."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Protocol, Union
from urllib.parse import urlencode

from ._io import AsyncioIo, Io

#: What can be uploaded: bytes, the path of a file, an open binary file, or bytes piece by piece (those only once).
FileSource = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", BinaryIO, Iterable[bytes], AsyncIterable[bytes]]

_PIECE_BYTES = 64 * 1024


class Content(Protocol):
    """The body of a request."""

    @property
    def is_repeatable(self) -> bool: ...

    def headers(self) -> dict[str, str]: ...

    def open(self, io: Io) -> Any:
        """From the beginning, in a form that the transport of this client takes."""


class Upload:
    """Bytes that are at hand."""

    is_repeatable = True

    def __init__(self, data: bytes, media_type: str | None) -> None:
        self._data = data
        self._media_type = media_type

    @staticmethod
    def json(value: Any) -> Upload:
        """ValueError for what JSON can't say (NaN, half a surrogate pair)."""
        return Upload(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), "application/json")

    @staticmethod
    def form(fields: Mapping[str, Any]) -> Upload:
        return Upload(urlencode({name: value for name, value in fields.items() if value is not None}).encode(), "application/x-www-form-urlencoded")

    def headers(self) -> dict[str, str]:
        return {} if self._media_type is None else {"Content-Type": self._media_type}

    def open(self, io: Io) -> Any:
        return self._data


class FileUpload:
    """A multipart form (RFC 7578) with fields and one file."""

    def __init__(self, file: FileSource, filename: str | None, fields: Mapping[str, str | None]) -> None:
        self._source = _source_of(file)
        boundary = secrets.token_hex(16)
        name = filename or self._source.name or "file"
        head = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items() if value is not None
        )
        head += f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_quoted(name)}"\r\n'
        self._head = (head + "Content-Type: application/octet-stream\r\n\r\n").encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._media_type = f"multipart/form-data; boundary={boundary}"

    @property
    def is_repeatable(self) -> bool:
        return self._source.is_repeatable

    def headers(self) -> dict[str, str]:
        size = self._source.size()
        length = {} if size is None else {"Content-Length": str(len(self._head) + size + len(self._tail))}
        return {"Content-Type": self._media_type, **length}

    def open(self, io: Io) -> Any:
        pieces = self._source.pieces()
        if isinstance(io, AsyncioIo):
            return self._all_async(pieces)
        if not isinstance(pieces, Iterator):
            raise TypeError("asynchronous iterables are for AsyncLonghaul")
        return self._all(pieces)

    def _all(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        yield self._head
        yield from pieces
        yield self._tail

    async def _all_async(self, pieces: Iterator[bytes] | AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        yield self._head
        if isinstance(pieces, AsyncIterator):
            async for piece in pieces:
                yield piece
        else:
            for piece in pieces:
                yield piece
        yield self._tail


class _Source(Protocol):
    is_repeatable: bool
    name: str | None

    def size(self) -> int | None: ...

    def pieces(self) -> Iterator[bytes] | AsyncIterator[bytes]: ...


class _Bytes:
    is_repeatable = True
    name: str | None = None

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(data).cast("B")

    def size(self) -> int | None:
        return len(self._data)

    def pieces(self) -> Iterator[bytes]:
        for at in range(0, len(self._data), _PIECE_BYTES):
            yield bytes(self._data[at : at + _PIECE_BYTES])


class _Path:
    is_repeatable = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self.name: str | None = os.path.basename(self._path)

    def size(self) -> int | None:
        return os.stat(self._path).st_size

    def pieces(self) -> Iterator[bytes]:
        with open(self._path, "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece


class _File:
    """An open file, from where it stands. It is repeatable if it can go back there."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        name = getattr(file, "name", None)
        self.name: str | None = os.path.basename(name) if isinstance(name, str) else None
        self.is_repeatable = bool(getattr(file, "seekable", lambda: False)())
        self._start = file.tell() if self.is_repeatable else 0

    def size(self) -> int | None:
        if not self.is_repeatable:
            return None
        end = self._file.seek(0, os.SEEK_END)
        self._file.seek(self._start)
        return end - self._start

    def pieces(self) -> Iterator[bytes]:
        if self.is_repeatable:
            self._file.seek(self._start)
        while piece := self._file.read(_PIECE_BYTES):
            yield piece


class _Stream:
    """What can be read once."""

    is_repeatable = False
    name: str | None = None

    def __init__(self, stream: Iterable[bytes] | AsyncIterable[bytes]) -> None:
        self._stream = stream

    def size(self) -> int | None:
        return None

    def pieces(self) -> Iterator[bytes] | AsyncIterator[bytes]:
        return iter(self._stream) if isinstance(self._stream, Iterable) else aiter(self._stream)


def _source_of(file: Any) -> _Source:
    if isinstance(file, (bytes, bytearray, memoryview)):
        return _Bytes(file)
    if isinstance(file, (str, os.PathLike)):
        return _Path(file)
    if hasattr(file, "read"):
        return _File(file)
    if isinstance(file, (Iterable, AsyncIterable)):
        return _Stream(file)
    raise TypeError("file must be bytes, a path, a binary file or an iterable of bytes")


def _quoted(name: str) -> str:
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
