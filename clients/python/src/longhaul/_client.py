"""The two clients."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx2

from ._base import KeyedCallOptions, build
from ._call import Caller, Operation, RetryPolicy
from ._credentials import Credentials, LoadTokens, NoCredentials, OnTokens, ServiceKey, Session, Tokens
from ._generated.operations import AsyncOperations, Operations
from ._io import AsyncioIo, BlockingIo, Io, blocking
from ._run import AsyncRun, Run, RunCore

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._generated import types as t

_CREATE_RUN: Operation[Any] = Operation("createRun", "POST", "/runs", has_key=True)
# Streams hold their connections, so their number is not limited; idle ones end before the server ends them.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=4.0)


def _credentials(io: Io, service_key: str | None, tokens: Tokens | None, on_tokens: OnTokens | None, load_tokens: LoadTokens | None) -> Credentials:
    if service_key is not None and tokens is not None:
        raise ValueError("give a service key or the tokens of a session, not both")
    if tokens is not None:
        return Session(io, tokens, on_tokens, load_tokens)
    return NoCredentials() if service_key is None else ServiceKey(service_key)


class _Client:
    _caller: Caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller.base_url}>"

    def _run_core(self, run_id: str, options: Any, view: Any = None) -> RunCore:
        request = build(self._caller, _CREATE_RUN, {}, options)
        request.headers.pop("Idempotency-Key", None)
        return RunCore(self._caller, run_id, request.headers, view)

    async def _started(self, body: Any, options: Any) -> RunCore:
        view = await self._caller.json(build(self._caller, _CREATE_RUN, {}, options, body=body))
        return self._run_core(view["id"], options, view)


class Longhaul(_Client, Operations):
    """
    A client of one deployment, for programs without an event loop; threads may share it. Close it, or use it as a context manager.

    `service_key`: of a back end. `tokens`: of a signed-in person; they are refreshed when they expire. `on_tokens` stores new tokens before they are used.
    `load_tokens` returns what another process has stored, for the case that it was faster. `timeout` is for a whole call, retries included.
    """

    def __init__(
        self,
        base_url: str,
        *,
        service_key: str | None = None,
        tokens: Tokens | None = None,
        on_tokens: OnTokens | None = None,
        load_tokens: LoadTokens | None = None,
        timeout: float | None = 120.0,
        max_tries: int = 5,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        io = BlockingIo(httpx2.Client(transport=transport, limits=_LIMITS, follow_redirects=False))
        credentials = _credentials(io, service_key, tokens, on_tokens, load_tokens)
        self._caller = Caller(io, base_url, credentials, RetryPolicy(max_tries, timeout))

    def start_run(self, body: t.RunCreate, **options: Unpack[KeyedCallOptions]) -> Run:
        """Starts a run (`createRun`) and returns it as an object."""
        return Run(blocking(self._started(body, options)))

    def run(self, run_id: str, **options: Unpack[KeyedCallOptions]) -> Run:
        """A run that was started before. Sends nothing."""
        return Run(self._run_core(run_id, options))

    def close(self) -> None:
        """Ends all connections; waits between retries end with ClientClosedError."""
        blocking(self._caller.io.close())

    def __enter__(self) -> Longhaul:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncLonghaul(_Client, AsyncOperations):
    """
    A client of one deployment for asyncio. Close it, or use it as a context manager. Cancelling a task ends its request.

    `service_key`: of a back end. `tokens`: of a signed-in person; they are refreshed when they expire. `on_tokens` stores new tokens before they are used.
    `load_tokens` returns what another process has stored, for the case that it was faster. `timeout` is for a whole call, retries included.
    """

    def __init__(
        self,
        base_url: str,
        *,
        service_key: str | None = None,
        tokens: Tokens | None = None,
        on_tokens: OnTokens | None = None,
        load_tokens: LoadTokens | None = None,
        timeout: float | None = 120.0,
        max_tries: int = 5,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        io = AsyncioIo(httpx2.AsyncClient(transport=transport, limits=_LIMITS, follow_redirects=False))
        credentials = _credentials(io, service_key, tokens, on_tokens, load_tokens)
        self._caller = Caller(io, base_url, credentials, RetryPolicy(max_tries, timeout))

    async def start_run(self, body: t.RunCreate, **options: Unpack[KeyedCallOptions]) -> AsyncRun:
        """Starts a run (`createRun`) and returns it as an object."""
        return AsyncRun(await self._started(body, options))

    def run(self, run_id: str, **options: Unpack[KeyedCallOptions]) -> AsyncRun:
        """A run that was started before. Sends nothing."""
        return AsyncRun(self._run_core(run_id, options))

    async def close(self) -> None:
        """Ends all connections; waits between retries end with ClientClosedError."""
        await self._caller.io.close()

    async def __aenter__(self) -> AsyncLonghaul:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
