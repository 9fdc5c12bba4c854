"""A run's frames, each once and in order, over as many connections as it takes."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ._call import Caller, Operation, Request, error_of, make_url
from ._errors import ApiError, ConnectionLostError, LonghaulError, UnreadableReplyError
from ._io import Exchange, blocking, now
from ._sse import Event, EventParser

if TYPE_CHECKING:
    from ._generated.types import Frame

#: The server sends at least a heartbeat every 15 s.
SILENCE_S = 40.0
#: How long a stream looks for a server that answers before it gives up.
PATIENCE_S = 300.0
_MAX_BACKOFF_S = 8.0


class Companion(Protocol):
    """What is done for a run while its frames are read."""

    async def begin(self) -> None: ...

    async def see(self, frame: Mapping[str, Any]) -> None: ...

    def check(self) -> None:
        """Raises what has gone wrong beside the stream."""

    def end(self) -> None: ...


class FrameSource:
    """
    Reads the stream of one run. After a break it goes on behind the last frame; a frame that came before is dropped, and a missing one is asked for once more:
    if it is missing again, the run is one whose advisory frames have been compacted away.
    """

    def __init__(self, caller: Caller, url: str, operation: Operation[Any], headers: Mapping[str, str], run_id: str) -> None:
        self.caller = caller
        self.run_id = run_id.lower()
        self._url = url
        self._operation = operation
        self._headers = dict(headers)
        self._exchange: Exchange | None = None
        self._parser = EventParser()
        self._events: deque[Event] = deque()
        self.last = 0
        #: None: behind what the run has when the stream begins.
        self.start: int | None = 0
        #: The last frame whose turn of the loop is over.
        self.cursor = 0
        self._delivered = 0
        self._hole_after: int | None = None
        self._is_compacted = False
        self._retry_s = 2.0
        self._failures = 0
        self._looking_since: float | None = None
        self.is_done = False
        self.companion: Companion | None = None
        self._has_begun = False

    async def next(self) -> Mapping[str, Any] | None:
        """The next frame; None after the last."""
        self.cursor = max(self.cursor, self._delivered)
        if not self._has_begun:
            await self._begin()
        while not self.is_done:
            if self.companion is not None:
                self.companion.check()
            if self._exchange is None:
                await self._connect()
                continue
            if not self._events:
                await self._read()
                continue
            frame = await self._take(self._events.popleft())
            if frame is not None:
                return frame
        await self.close()
        return None

    async def _begin(self) -> None:
        if self.start is None:
            run = await self.caller.json(self._request_for_run())
            self.start = int(run["last_seq"])
        self.last = self.cursor = self._delivered = self.start
        self._has_begun = True
        if self.companion is not None:
            await self.companion.begin()

    def _request_for_run(self) -> Request:
        operation: Operation[Any] = Operation("getRun", "GET", "/runs/{run_id}")
        url = make_url(self.caller.base_url, operation, {"run_id": self.run_id}, {})
        return Request(operation, url, {"Accept": "application/json", **self._headers}, timeout_s=PATIENCE_S)

    async def _connect(self) -> None:
        headers = {**self._headers, "Accept": "text/event-stream"}
        if self.last > 0:
            headers["Last-Event-ID"] = str(self.last)
        self._looking_since = self._looking_since or now()
        left_s = self._looking_since + PATIENCE_S - now()
        failure: LonghaulError
        try:
            answer = await self.caller.answer(Request(self._operation, self._url, headers, timeout_s=max(left_s, 1.0), silence_s=SILENCE_S), is_read=False)
        except ConnectionLostError as error:
            failure = error
        except ApiError as error:
            # Too many streams, a server that stops: it passes. The caller has tried a few times already.
            if not error.retryable:
                raise
            failure = error
        else:
            if answer.facts.status == 204:
                self.is_done = True
                await answer.exchange.close()
                return
            self._exchange = answer.exchange
            self._parser = EventParser()
            if not answer.exchange.headers.get("content-type", "").startswith("text/event-stream"):
                await self._drop()
                raise UnreadableReplyError({"code": "unreadable_reply", "status": answer.facts.status, "detail": "the reply is not an event stream"})
            return
        if now() - self._looking_since >= PATIENCE_S:
            raise failure
        await self._wait_to_come_back()

    async def _read(self) -> None:
        assert self._exchange is not None
        try:
            chunk = await self._exchange.chunk()
        except ConnectionLostError:
            await self._drop()
            await self._wait_to_come_back()
            return
        except BaseException:
            # A cancelled task must not keep its connection.
            await self._drop()
            raise
        if chunk is None:
            # The server ends connections on purpose, and says after how long to come back.
            await self._drop()
            await self.caller.io.sleep(self._retry_s)
            return
        self._events.extend(self._parser.feed(chunk))

    async def _wait_to_come_back(self) -> None:
        self._failures += 1
        await self.caller.io.sleep(random.uniform(0, min(_MAX_BACKOFF_S, 0.25 * 2.0**self._failures)))

    async def _take(self, event: Event) -> Mapping[str, Any] | None:
        if event.retry_ms is not None:
            self._retry_s = min(event.retry_ms / 1_000, 60.0)
        if event.data is None:
            return None
        try:
            frame = json.loads(event.data)
            seq = frame["seq"]
        except (ValueError, KeyError, TypeError):
            # Something on the way has damaged it: the archive has it whole.
            await self._drop()
            await self._wait_to_come_back()
            return None
        if seq is None:
            await self._heed(frame)
            return None
        if not await self._is_due(seq):
            return None
        self.last = self._delivered = seq
        self._failures = 0
        self._looking_since = None
        if self.companion is not None:
            await self.companion.see(frame)
        if frame["type"] == "run.finished" and frame["run_id"] == self.run_id and "origin_seq" not in frame:
            self.is_done = True
            await self._drop()
        result: Mapping[str, Any] = frame
        return result

    async def _is_due(self, seq: int) -> bool:
        if seq <= self.last:
            return False
        if seq == self.last + 1 or self._is_compacted:
            return True
        if self._hole_after == self.last:
            self._is_compacted = True
            return True
        self._hole_after = self.last
        await self._drop()
        return False

    async def _heed(self, notice: Mapping[str, Any]) -> None:
        """A frame for this connection alone: it says why the server closes it."""
        data = notice.get("data") or {}
        await self._drop()
        if not data.get("retryable"):
            problem = data.get("problem") or {"code": data.get("code"), "status": 0, "detail": data.get("message")}
            raise error_of(problem)
        await self.caller.io.sleep(self._retry_s)

    async def _drop(self) -> None:
        exchange, self._exchange = self._exchange, None
        self._events.clear()
        if exchange is not None:
            await exchange.close()

    async def leave(self, *, is_turn_over: bool) -> None:
        """Ends the connection. `is_turn_over`: the loop was left on purpose, so what it was given last counts as seen."""
        if is_turn_over:
            self.cursor = max(self.cursor, self._delivered)
        self.is_done = True
        await self.close()

    async def close(self) -> None:
        await self._drop()
        if self.companion is not None:
            self.companion.end()


def stream_of(
    caller: Caller,
    operation: Operation[Any],
    path: Mapping[str, str],
    headers: Mapping[str, str],
    after_seq: int | None = None,
    replay: bool | None = None,
) -> FrameSource:
    """The stream of a run: behind a number, or without replay behind all that there is."""
    source = FrameSource(caller, make_url(caller.base_url, operation, path, {}), operation, headers, path["run_id"])
    source.start = None if replay is False else (after_seq or 0)
    source.cursor = after_seq or 0
    return source


class RunStream:
    """
    The frames of a run: 1 to n, each once and in order. The loop ends behind the run's own `run.finished`; leaving it changes nothing for the run.

    `cursor` is the number of the last frame whose turn of the loop is over. Stored, it resumes in another process: `stream_run(run_id, after_seq=cursor)`.
    Leaving the `with` block without an exception ends the turn, too.
    """

    def __init__(self, source: FrameSource) -> None:
        self._source = source

    @property
    def cursor(self) -> int:
        return self._source.cursor

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        frame: Any = blocking(self._source.next())
        if frame is None:
            raise StopIteration
        result: Frame = frame
        return result

    def close(self) -> None:
        """Ends the connection; the last frame counts as seen."""
        blocking(self._source.leave(is_turn_over=True))

    def __enter__(self) -> RunStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        blocking(self._source.leave(is_turn_over=kind is None))


class AsyncRunStream:
    """
    The frames of a run: 1 to n, each once and in order. The loop ends behind the run's own `run.finished`; leaving it changes nothing for the run.

    `cursor` is the number of the last frame whose turn of the loop is over. Stored, it resumes in another process: `stream_run(run_id, after_seq=cursor)`.
    Leaving the `async with` block without an exception ends the turn, too.
    """

    def __init__(self, source: FrameSource) -> None:
        self._source = source

    @property
    def cursor(self) -> int:
        return self._source.cursor

    def __aiter__(self) -> AsyncIterator[Frame]:
        return self

    async def __anext__(self) -> Frame:
        frame: Any = await self._source.next()
        if frame is None:
            raise StopAsyncIteration
        result: Frame = frame
        return result

    async def close(self) -> None:
        """Ends the connection; the last frame counts as seen."""
        await self._source.leave(is_turn_over=True)

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._source.leave(is_turn_over=kind is None)
