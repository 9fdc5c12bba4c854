"""The format of server-sent events (WHATWG HTML, section 9.2), as bytes arrive."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One block of a stream. A comment has none of its parts."""

    id: str | None
    name: str | None
    data: str | None
    retry_ms: int | None


class EventParser:
    """Cuts the bytes of a stream into events, wherever the network cuts them."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_first = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Returns the events that these bytes complete."""
        text = self._rest + chunk
        if self._is_first and len(text) >= 3:
            text = text.removeprefix(b"\xef\xbb\xbf")
            self._is_first = False
        held = b""
        if b"\r" in text:
            # The other half of a line's end may still be under way.
            if text.endswith(b"\r"):
                text, held = text[:-1], b"\r"
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, rest = text.split(b"\n\n")
        self._rest = rest + held
        return [_read(block) for block in blocks]


def _read(block: bytes) -> Event:
    id_: str | None = None
    name: str | None = None
    retry_ms: int | None = None
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"id":
            id_ = value.removeprefix(b" ").decode("utf-8", "replace")
        elif field == b"event":
            name = value.removeprefix(b" ").decode("utf-8", "replace")
        elif field == b"retry" and value.strip().isdigit():
            retry_ms = int(value)
    return Event(id_, name, b"\n".join(data).decode("utf-8", "replace") if data else None, retry_ms)
