"""
What a client does for a run beside reading it: answer questions, and execute the tools that are its own. Frames only say when to look. What is to be done is
read from the run, so that a client which starts again takes up what is open, and does not touch what is over.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Union

from ._call import Caller, Operation, Request, View, make_url
from ._errors import ApiError, LonghaulError
from ._upload import Upload

if TYPE_CHECKING:
    from ._generated.types import ApprovalView

_GET_RUN: Operation[Any] = Operation("getRun", "GET", "/runs/{run_id}")
_ADD_INPUT: Operation[Any] = Operation("addRunInput", "POST", "/runs/{run_id}/input", has_key=True)
_LIST_APPROVALS: Operation[Any] = Operation("listRunApprovals", "GET", "/runs/{run_id}/approvals")
_RESOLVE: Operation[Any] = Operation("resolveRunApprovals", "POST", "/runs/{run_id}/approvals", has_key=True)
_LIST_STEPS: Operation[Any] = Operation("listRunSteps", "GET", "/runs/{run_id}/steps")
#: The run lists at most as many calls; further ones follow as results arrive.
_LISTED_CALLS = 50
_MAX_MESSAGE_CHARS = 2_000
#: Longer than any tool may take.
_MAX_TIMER_S = 2_592_000.0


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that the client owns."""

    #: The same over restarts of the process: what a tool's own ledger goes by, so that its work is done once.
    call_id: str
    run_id: str
    slug: str
    args_hash: str
    deadline_at: str
    #: Set when the result is no longer wanted: the call was cancelled, its time is over, or the stream was left. A coroutine is cancelled instead.
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False)


#: Takes the arguments and the call; what it returns, JSON, is the result. What it raises is told to the model.
Tool = Callable[[dict[str, Any], ToolCall], Any]
Tools = Mapping[str, Tool]

#: An answer without `approval_id` and `args_hash`, for example `{"decision": "approve"}`; None leaves the question to somebody else.
Answer = Union[Mapping[str, Any], None]
OnApproval = Callable[["ApprovalView"], Union[Answer, Awaitable[Answer]]]


class Duties:
    """Questions and tool calls of a run and its sub-agents, each taken up once."""

    def __init__(self, caller: Caller, run_id: str, headers: Mapping[str, str], tools: Tools | None, on_approval: OnApproval | None) -> None:
        self._caller = caller
        self._run_id = run_id
        self._headers = headers
        self._tools = dict(tools or {})
        self._on_approval = on_approval
        self._asked: set[str] = set()
        self._open: dict[str, ToolCall] = {}
        self._cancel: dict[str, Callable[[], None]] = {}
        self._questions: dict[str, Callable[[], None]] = {}
        self._failure: BaseException | None = None
        #: Frames up to this one are older than what the run said when it was last read.
        self._known_up_to = 0
        self._is_list_full = False
        self._lock = threading.Lock()

    async def begin(self) -> None:
        run = await self._call(_GET_RUN)
        self._known_up_to = int(run["last_seq"])
        # Read after the number: so it holds all that the frames up to it have told.
        await self._look()

    async def see(self, frame: Mapping[str, Any]) -> None:
        data = frame["data"]
        if frame["type"] == "tool.result":
            self._drop(str(data["tool_call_id"]))
        if frame["type"] == "run.finished" and frame["run_id"] == self._run_id.lower():
            self.end()
            return
        if frame["seq"] > self._known_up_to and self._is_cause(str(frame["type"]), data):
            await self._look()
            self._known_up_to = max(self._known_up_to, int(frame["seq"]))

    def check(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def end(self) -> None:
        for call_id in list(self._open):
            self._drop(call_id)
        for cancel in list(self._questions.values()):
            cancel()

    def _is_cause(self, type_: str, data: Mapping[str, Any]) -> bool:
        if type_ == "approval.requested":
            return self._on_approval is not None
        if type_ == "tool.result":
            return self._is_list_full
        return type_ == "tool.call" and data.get("client_owned") is True and data.get("phase") in {"ready", "executing"} and bool(self._tools)

    async def _look(self) -> None:
        if self._tools:
            run = await self._call(_GET_RUN)
            calls = run["pending_tool_calls"] or []
            self._is_list_full = len(calls) >= _LISTED_CALLS
            for call in calls:
                if call["slug"] in self._tools:
                    self._take(call, run)
        if self._on_approval is not None:
            page = await self._call(_LIST_APPROVALS, query={"status": "pending", "limit": 200})
            for question in page["items"]:
                if question["id"] not in self._asked:
                    self._asked.add(question["id"])
                    self._questions[question["id"]] = self._caller.io.start(self._guarded(self._ask(question)))

    def _take(self, listed: Mapping[str, Any], run: View) -> None:
        call_id = listed["tool_call_id"]
        with self._lock:
            if call_id in self._caller.taken_calls:
                return
            self._caller.taken_calls.add(call_id)
        call = ToolCall(call_id, listed["run_id"], listed["slug"], listed["args_hash"], listed["deadline_at"])
        self._open[call_id] = call
        left_s = _seconds_until(listed["deadline_at"], run.reply.server_time)
        timer = threading.Timer(min(max(left_s, 0.0), _MAX_TIMER_S), call.cancelled.set)
        timer.daemon = True
        timer.start()
        self._cancel[call_id] = self._caller.io.start(self._guarded(self._execute(call, listed, timer)))

    async def _execute(self, call: ToolCall, listed: Mapping[str, Any], timer: threading.Timer) -> None:
        is_over = False
        try:
            args = listed["args"] if listed["args"] is not None else await self._args_of(call)
            result = await self._result_of(call, args)
            # From here on its own result must not stop it.
            self._open.pop(call.call_id, None)
            if not call.cancelled.is_set():
                await self._record(result)
            is_over = True
        finally:
            timer.cancel()
            self._open.pop(call.call_id, None)
            self._cancel.pop(call.call_id, None)
            if not is_over:
                # Another stream of this process may take it up.
                self._caller.taken_calls.discard(call.call_id)

    async def _result_of(self, call: ToolCall, args: dict[str, Any]) -> dict[str, Any]:
        try:
            output = await self._caller.io.work(self._tools[call.slug], args, call)
            json.dumps(output, allow_nan=False)
            return {"tool_call_id": call.call_id, "status": "succeeded", "output": output}
        except Exception as error:
            message = str(error) or type(error).__name__
            return {"tool_call_id": call.call_id, "status": "failed", "message": message[:_MAX_MESSAGE_CHARS]}

    async def _record(self, result: Mapping[str, Any]) -> None:
        body = {"kind": "tool_results", "results": [result]}
        try:
            await self._call(_ADD_INPUT, body=body, key=f"tool:{result['tool_call_id']}")
        except ApiError as error:
            # Recorded by a try before a crash; or the call is over, and nobody waits for it.
            if error.reason not in {"result_recorded", "not_awaited", "run_finished"} and error.code != "idempotency_key_mismatch":
                raise

    async def _args_of(self, call: ToolCall) -> dict[str, Any]:
        """Arguments that did not fit in the list."""
        page = await self._call(_LIST_STEPS, query={"tool_call_id": call.call_id}, run_id=call.run_id)
        for step in page["items"]:
            if step["args"] is not None:
                args: dict[str, Any] = step["args"]
                return args
        raise LonghaulError(f"the arguments of call {call.call_id} are not to be had")

    async def _ask(self, question: Mapping[str, Any]) -> None:
        assert self._on_approval is not None
        try:
            answer = await self._caller.io.call(self._on_approval, question)
            if answer is not None:
                await self._answer(question, answer)
        finally:
            self._questions.pop(str(question["id"]), None)

    async def _answer(self, question: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        # The hash of what was shown: arguments that have changed meanwhile are not approved unseen.
        seen = {} if question["args_hash"] is None else {"args_hash": question["args_hash"]}
        try:
            await self._call(_RESOLVE, body={"resolutions": [{**answer, **seen, "approval_id": question["id"]}]}, key=str(uuid.uuid4()))
        except ApiError as error:
            # Somebody else was faster, or nobody waits any more.
            if error.reason not in {"approval_resolved", "approval_expired", "run_finished"}:
                raise

    async def _guarded(self, duty: Awaitable[None]) -> None:
        try:
            await duty
        except Exception as error:
            self._failure = error

    def _drop(self, call_id: str) -> None:
        call = self._open.get(call_id)
        if call is not None:
            call.cancelled.set()
            self._cancel.get(call_id, lambda: None)()

    async def _call(
        self, operation: Operation[Any], *, query: Mapping[str, Any] | None = None, body: Any = None, key: str | None = None, run_id: str | None = None
    ) -> Any:
        headers = {"Accept": "application/json", **self._headers, **({} if key is None else {"Idempotency-Key": key})}
        url = make_url(self._caller.base_url, operation, {"run_id": run_id or self._run_id}, query or {})
        return await self._caller.json(Request(operation, url, headers, None if body is None else Upload.json(body), self._caller.policy.timeout_s))


def _seconds_until(instant: str, server_time: float | None) -> float:
    """By the server's clock, which may differ from this one."""
    at = datetime.fromisoformat(instant.replace("Z", "+00:00")).timestamp()
    return at - (time.time() if server_time is None else server_time)
