"""
Where requests leave and waits happen. All that stands on it is written once, as coroutines: `AsyncioIo` lets them wait in an event loop; those of
`BlockingIo` block instead and never suspend, so that `blocking` runs them to their end in one step.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import httpx2

from ._errors import ClientClosedError, ConnectionLostError

T = TypeVar("T")

#: Errors of the transport that are the caller's: a header that HTTP can't carry, a file that grew while it was sent.
_REFUSED = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)
#: Errors of the transport after which no byte of the request can have arrived.
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine whose every wait blocks."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine of the blocking client was suspended")


def _lost(error: httpx2.TransportError) -> ConnectionLostError:
    # The transport's own error holds the request with its headers, so it is neither cause nor context of ours.
    lost = ConnectionLostError(f"{type(error).__name__}: {error}")
    lost.was_sent = not isinstance(error, _UNSENT)
    return lost


class Exchange(Protocol):
    """A reply whose headers have come."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> httpx2.Headers: ...

    async def chunk(self) -> bytes | None:
        """The next bytes of the body; None at its end."""

    async def close(self) -> None:
        """Gives the connection back, or ends it if the body has not been read."""


async def read_all(exchange: Exchange) -> bytes:
    """The rest of a body. The connection is free afterwards, whatever happens."""
    chunks = []
    try:
        while (chunk := await exchange.chunk()) is not None:
            chunks.append(chunk)
    finally:
        await exchange.close()
    return b"".join(chunks)


class Io(Protocol):
    """What the two clients do in different ways."""

    def request(self, method: str, url: str, headers: dict[str, str], content: Any, timeout: httpx2.Timeout) -> httpx2.Request: ...

    async def send(self, request: httpx2.Request) -> Exchange: ...

    async def sleep(self, seconds: float) -> None: ...

    def lock(self) -> contextlib.AbstractAsyncContextManager[None]: ...

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs to its end what must not be left half done, even if the caller is cancelled."""

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a function of the user's."""

    async def work(self, function: Callable[..., Any], *args: Any) -> Any:
        """The same beside everything else: a plain function must not hold up the event loop."""

    def start(self, coroutine: Coroutine[Any, Any, None]) -> Callable[[], None]:
        """Runs something beside; returns what cancels it, as far as it can be cancelled."""

    async def close(self) -> None: ...


class _BlockingExchange:
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._chunks = response.iter_bytes()
        self.status = response.status_code
        self.headers = response.headers

    async def chunk(self) -> bytes | None:
        lost: ConnectionLostError | None = None
        try:
            return next(self._chunks, None)
        except httpx2.TransportError as error:
            lost = _lost(error)
        except (httpx2.StreamError, httpx2.DecodingError) as error:
            lost = ConnectionLostError(type(error).__name__)
        raise lost

    async def close(self) -> None:
        self._response.close()


class BlockingIo:
    """For programs without an event loop. May be used by several threads."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self._is_closed = threading.Event()
        self._lock = threading.Lock()

    def request(self, method: str, url: str, headers: dict[str, str], content: Any, timeout: httpx2.Timeout) -> httpx2.Request:
        return self._client.build_request(method, url, headers=headers, content=content, timeout=timeout)

    async def send(self, request: httpx2.Request) -> Exchange:
        if self._is_closed.is_set():
            raise ClientClosedError("the client is closed")
        failure: Exception
        try:
            return _BlockingExchange(self._client.send(request, stream=True, follow_redirects=False))
        except _REFUSED as error:
            failure = ValueError(f"the request can't be sent: {error}")
        except httpx2.TransportError as error:
            failure = _lost(error)
        raise failure

    async def sleep(self, seconds: float) -> None:
        if self._is_closed.wait(seconds):
            raise ClientClosedError("the client was closed")

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        with self._lock:
            yield

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await coroutine

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        result = function(*args)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError("coroutine functions are for AsyncLonghaul")
        return result

    async def work(self, function: Callable[..., Any], *args: Any) -> Any:
        return await self.call(function, *args)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> Callable[[], None]:
        threading.Thread(target=blocking, args=(coroutine,), name="longhaul", daemon=True).start()
        return lambda: None

    async def close(self) -> None:
        self._is_closed.set()
        self._client.close()


class _AsyncioExchange:
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._chunks = response.aiter_bytes()
        self.status = response.status_code
        self.headers = response.headers

    async def chunk(self) -> bytes | None:
        lost: ConnectionLostError | None = None
        try:
            return await anext(self._chunks, None)
        except httpx2.TransportError as error:
            lost = _lost(error)
        except (httpx2.StreamError, httpx2.DecodingError) as error:
            lost = ConnectionLostError(type(error).__name__)
        raise lost

    async def close(self) -> None:
        await self._response.aclose()


class AsyncioIo:
    """For programs in an asyncio event loop."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self._is_closed = False
        self._lock: asyncio.Lock | None = None
        self._tasks: set[asyncio.Future[Any]] = set()

    def request(self, method: str, url: str, headers: dict[str, str], content: Any, timeout: httpx2.Timeout) -> httpx2.Request:
        return self._client.build_request(method, url, headers=headers, content=content, timeout=timeout)

    async def send(self, request: httpx2.Request) -> Exchange:
        if self._is_closed:
            raise ClientClosedError("the client is closed")
        failure: Exception
        try:
            return _AsyncioExchange(await self._client.send(request, stream=True, follow_redirects=False))
        except _REFUSED as error:
            failure = ValueError(f"the request can't be sent: {error}")
        except httpx2.TransportError as error:
            failure = _lost(error)
        raise failure

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self._is_closed:
            raise ClientClosedError("the client was closed")

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            yield

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(coroutine)
        self._keep(task)
        return await asyncio.shield(task)

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        result = function(*args)
        return await result if inspect.isawaitable(result) else result

    async def work(self, function: Callable[..., Any], *args: Any) -> Any:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            return await function(*args)
        result = await asyncio.to_thread(function, *args)
        return await result if inspect.isawaitable(result) else result

    def start(self, coroutine: Coroutine[Any, Any, None]) -> Callable[[], None]:
        task = asyncio.ensure_future(coroutine)
        self._keep(task)

        def cancel() -> None:
            task.cancel()

        return cancel

    def _keep(self, task: asyncio.Future[Any]) -> None:
        # The event loop holds its tasks weakly.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        self._is_closed = True
        await self._client.aclose()


def now() -> float:
    """Seconds on a clock that never jumps."""
    return time.monotonic()
