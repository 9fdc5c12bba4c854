"""Replies that are not JSON: files, exports, streams of other protocols. They are read piece by piece."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

from ._call import Answer, Caller, ReplyFacts, Request
from ._io import blocking, read_all


async def open_content(caller: Caller, request: Request) -> Answer:
    """The reply of a call whose body is still to come."""
    # Some replies come in several forms; MCP demands that both of its own are named.
    request.headers["Accept"] = "application/json, text/event-stream, */*;q=0.8"
    return await caller.answer(request, is_read=False)


class _Content:
    def __init__(self, answer: Answer) -> None:
        self._exchange = answer.exchange
        self.reply: ReplyFacts = answer.facts

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case."""
        return dict(self._exchange.headers)

    @property
    def media_type(self) -> str | None:
        return self._exchange.headers.get("content-type")

    async def _save(self, path: str | os.PathLike[str]) -> int:
        size = 0
        with open(path, "wb") as file:
            while (piece := await self._exchange.chunk()) is not None:
                size += file.write(piece)
        await self._exchange.close()
        return size


class Content(_Content):
    """A reply as bytes. Read it, iterate over its pieces, save it, or close it; ConnectionLostError if it breaks off."""

    def read(self) -> bytes:
        return blocking(read_all(self._exchange))

    def text(self) -> str:
        return self.read().decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.read())

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes it to a file; returns its size."""
        return blocking(self._save(path))

    def __iter__(self) -> Iterator[bytes]:
        while (piece := blocking(self._exchange.chunk())) is not None:
            yield piece

    def close(self) -> None:
        blocking(self._exchange.close())

    def __enter__(self) -> Content:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncContent(_Content):
    """A reply as bytes. Read it, iterate over its pieces, save it, or close it; ConnectionLostError if it breaks off."""

    async def read(self) -> bytes:
        return await read_all(self._exchange)

    async def text(self) -> str:
        return (await self.read()).decode("utf-8", "replace")

    async def json(self) -> Any:
        return json.loads(await self.read())

    async def save(self, path: str | os.PathLike[str]) -> int:
        """Writes it to a file; returns its size."""
        return await self._save(path)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self._exchange.chunk()) is not None:
            yield piece

    async def close(self) -> None:
        await self._exchange.close()

    async def __aenter__(self) -> AsyncContent:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
