"""A run as an object: wait for it, read what it came to, cancel it."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._call import Caller, Operation, Request, make_url
from ._duties import Duties, OnApproval, Tools
from ._errors import DeadlineError, LonghaulError, RunEndedError
from ._io import blocking, now
from ._stream import AsyncRunStream, FrameSource, RunStream, stream_of
from ._upload import Upload

if TYPE_CHECKING:
    from ._generated.types import RunView

_GET_RUN: Operation[Any] = Operation("getRun", "GET", "/runs/{run_id}")
_WAIT: Operation[Any] = Operation("waitForRun", "GET", "/runs/{run_id}/wait")
_CANCEL: Operation[Any] = Operation("cancelRun", "POST", "/runs/{run_id}/cancel", has_key=True)
_STREAM: Operation[Any] = Operation("streamRun", "GET", "/runs/{run_id}/stream")
_ENDED = frozenset({"succeeded", "failed", "cancelled"})
_WAIT_S = 30
#: How often a run that waits for somebody is looked at.
_LOOK_EVERY_S = 2.0


class RunCore:
    """What both forms of a run do."""

    def __init__(self, caller: Caller, run_id: str, headers: Mapping[str, str], view: Any = None) -> None:
        self._caller = caller
        self.id = run_id
        self._headers = headers
        self.view = view

    async def wait(self, timeout: float | None) -> Any:
        """Until it waits for somebody, or has ended."""
        ends_at = None if timeout is None else now() + timeout
        while True:
            left = _WAIT_S if ends_at is None else ends_at - now()
            if left <= 0:
                raise DeadlineError(f"run {self.id} was still going on after {timeout} s")
            run = await self._call(_WAIT, query={"timeout_s": min(_WAIT_S, math.ceil(left))})
            if run["status"] == "waiting" or run["status"] in _ENDED:
                return run

    async def end(self, timeout: float | None, tools: Tools | None, on_approval: OnApproval | None) -> Any:
        """Until it has ended; questions and calls of tools are seen to meanwhile, if there is something that does."""
        ends_at = None if timeout is None else now() + timeout
        if tools or on_approval:
            await self._follow(ends_at, timeout, tools, on_approval)
        while True:
            run = await self.wait(None if ends_at is None else ends_at - now())
            if run["status"] in _ENDED:
                return run
            await self._caller.io.sleep(_LOOK_EVERY_S)

    async def _follow(self, ends_at: float | None, timeout: float | None, tools: Tools | None, on_approval: OnApproval | None) -> None:
        source = self.stream(0, None, tools, on_approval)
        source.start = None
        try:
            while await source.next() is not None:
                if ends_at is not None and now() >= ends_at:
                    raise DeadlineError(f"run {self.id} was still going on after {timeout} s")
        finally:
            await source.close()

    async def result(self, timeout: float | None, tools: Tools | None, on_approval: OnApproval | None) -> Any:
        run = await self.end(timeout, tools, on_approval)
        if run["finish_reason"] != "stop":
            raise RunEndedError(run)
        return run

    async def text(self, timeout: float | None, tools: Tools | None, on_approval: OnApproval | None) -> str:
        output = (await self.result(timeout, tools, on_approval))["output"] or {}
        if output.get("text") is None:
            raise LonghaulError(f"run {self.id} has no text: its agent answers in JSON")
        return str(output["text"])

    async def get(self) -> Any:
        return await self._call(_GET_RUN)

    async def cancel(self, policy: str | None, reason: str | None) -> Any:
        body = {name: value for name, value in (("policy", policy), ("reason", reason)) if value is not None}
        return await self._call(_CANCEL, body=body, key=str(uuid.uuid4()))

    def stream(self, after_seq: int | None, replay: bool | None, tools: Tools | None, on_approval: OnApproval | None) -> FrameSource:
        source = stream_of(self._caller, _STREAM, {"run_id": self.id}, self._headers, after_seq, replay)
        if tools or on_approval:
            source.companion = Duties(self._caller, self.id, self._headers, tools, on_approval)
        return source

    async def _call(self, operation: Operation[Any], *, query: Mapping[str, Any] | None = None, body: Any = None, key: str | None = None) -> Any:
        headers = {"Accept": "application/json", **self._headers, **({} if key is None else {"Idempotency-Key": key})}
        url = make_url(self._caller.base_url, operation, {"run_id": self.id}, query or {})
        self.view = await self._caller.json(
            Request(operation, url, headers, None if body is None else Upload.json(body), self._caller.policy.timeout_s),
        )
        return self.view


class Run:
    """A run. Dropping this object, or leaving a loop over its frames, cancels nothing."""

    def __init__(self, core: RunCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"<Run {self.id}>"

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def view(self) -> RunView | None:
        """The run as it was last read; None if it has not been."""
        view: RunView | None = self._core.view
        return view

    def get(self) -> RunView:
        """Reads it."""
        view: RunView = blocking(self._core.get())
        return view

    def wait(self, timeout: float | None = None) -> RunView:
        """Returns it when it has ended, or waits for somebody. DeadlineError after `timeout` seconds."""
        view: RunView = blocking(self._core.wait(timeout))
        return view

    def result(self, timeout: float | None = None, *, tools: Tools | None = None, on_approval: OnApproval | None = None) -> RunView:
        """Returns it when it has ended. RunEndedError if it ended in another way than `stop`; DeadlineError after `timeout` seconds."""
        view: RunView = blocking(self._core.result(timeout, tools, on_approval))
        return view

    def text(self, timeout: float | None = None, *, tools: Tools | None = None, on_approval: OnApproval | None = None) -> str:
        """The text that it answers with; otherwise as `result`."""
        return blocking(self._core.text(timeout, tools, on_approval))

    def cancel(self, policy: str | None = None, reason: str | None = None) -> RunView:
        """Asks it to end: `interrupt` keeps the output so far, `rollback` discards the turn."""
        view: RunView = blocking(self._core.cancel(policy, reason))
        return view

    def stream(
        self, after_seq: int | None = None, *, replay: bool | None = None, tools: Tools | None = None, on_approval: OnApproval | None = None
    ) -> RunStream:
        """Its frames. While they are read, questions go to `on_approval`, and calls of the client's own tools to `tools`, by slug."""
        return RunStream(self._core.stream(after_seq, replay, tools, on_approval))


class AsyncRun:
    """A run. Dropping this object, or leaving a loop over its frames, cancels nothing."""

    def __init__(self, core: RunCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"<AsyncRun {self.id}>"

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def view(self) -> RunView | None:
        """The run as it was last read; None if it has not been."""
        view: RunView | None = self._core.view
        return view

    async def get(self) -> RunView:
        """Reads it."""
        view: RunView = await self._core.get()
        return view

    async def wait(self, timeout: float | None = None) -> RunView:
        """Returns it when it has ended, or waits for somebody. DeadlineError after `timeout` seconds."""
        view: RunView = await self._core.wait(timeout)
        return view

    async def result(self, timeout: float | None = None, *, tools: Tools | None = None, on_approval: OnApproval | None = None) -> RunView:
        """Returns it when it has ended. RunEndedError if it ended in another way than `stop`; DeadlineError after `timeout` seconds."""
        view: RunView = await self._core.result(timeout, tools, on_approval)
        return view

    async def text(self, timeout: float | None = None, *, tools: Tools | None = None, on_approval: OnApproval | None = None) -> str:
        """The text that it answers with; otherwise as `result`."""
        return await self._core.text(timeout, tools, on_approval)

    async def cancel(self, policy: str | None = None, reason: str | None = None) -> RunView:
        """Asks it to end: `interrupt` keeps the output so far, `rollback` discards the turn."""
        view: RunView = await self._core.cancel(policy, reason)
        return view

    def stream(
        self, after_seq: int | None = None, *, replay: bool | None = None, tools: Tools | None = None, on_approval: OnApproval | None = None
    ) -> AsyncRunStream:
        """Its frames. While they are read, questions go to `on_approval`, and calls of the client's own tools to `tools`, by slug."""
        return AsyncRunStream(self._core.stream(after_seq, replay, tools, on_approval))
