"""What the methods of both clients are made of: arguments in, a request, and a reply in its form."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar

from ._call import Caller, Operation, Request, make_url
from ._content import AsyncContent, Content, open_content
from ._io import blocking
from ._pages import AsyncPages, Pages, PageSource
from ._stream import AsyncRunStream, RunStream, stream_of
from ._upload import FileSource, FileUpload, Upload
from ._upload import Content as Body

T = TypeVar("T")


class CallOptions(TypedDict, total=False):
    """What every call takes."""

    #: Acts as another user; requires admin or above.
    acting_user: str
    #: Narrows an operator to one organization, or one workspace.
    view_organization: str
    view_workspace: str
    #: Seconds for the whole call, retries included; None: no limit.
    timeout: float | None


class KeyedCallOptions(CallOptions, total=False):
    """Of an operation that carries a repeated request out once."""

    #: Made by the client unless given: give one that outlives the process if the program may start again and repeat the call.
    idempotency_key: str


_HEADERS = {
    "acting_user": "X-Acting-User",
    "view_organization": "X-View-Organization",
    "view_workspace": "X-View-Workspace",
    "idempotency_key": "Idempotency-Key",
}


def build(
    caller: Caller,
    operation: Operation[Any],
    path: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, str | None] | None = None,
    body: Any = None,
    content: bytes | None = None,
    file: tuple[FileSource, str | None, Mapping[str, str | None]] | None = None,
    bearer: str | None = None,
) -> Request:
    """The request of a call. TypeError for an option that the operation does not take."""
    known = _HEADERS.keys() | {"timeout"} if operation.has_key else _HEADERS.keys() - {"idempotency_key"} | {"timeout"}
    if unknown := options.keys() - known:
        raise TypeError(f"{operation.id} takes no {', '.join(sorted(unknown))}")
    sent = {"Accept": "application/json", **{name: value for name, value in (headers or {}).items() if value is not None}}
    sent.update({_HEADERS[name]: str(value) for name, value in options.items() if name in _HEADERS and value is not None})
    if operation.has_key:
        sent.setdefault("Idempotency-Key", str(uuid.uuid4()))
    # A file may take as long as its bytes keep moving.
    timeout_s = options.get("timeout", None if file is not None else caller.policy.timeout_s)
    return Request(operation, make_url(caller.base_url, operation, path, query or {}), sent, _body_of(operation, body, content, file), timeout_s, bearer)


def _body_of(operation: Operation[Any], body: Any, content: bytes | None, file: tuple[FileSource, str | None, Mapping[str, str | None]] | None) -> Body | None:
    if file is not None:
        return FileUpload(*file)
    if content is not None:
        return Upload(content, None)
    if body is None:
        return None
    return Upload.form(body) if operation.is_form else Upload.json(body)


class BlockingCalls:
    """Makes the calls of `Longhaul`."""

    _caller: Caller

    def _json(self, operation: Operation[T], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> T:
        view: T = blocking(self._caller.json(build(self._caller, operation, path, options, **parts)))
        return view

    def _empty(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> None:
        blocking(self._caller.answer(build(self._caller, operation, path, options, **parts), is_json=False))

    def _text(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> str:
        return blocking(self._caller.text(build(self._caller, operation, path, options, **parts)))

    def _content(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> Content:
        return Content(blocking(open_content(self._caller, build(self._caller, operation, path, options, **parts))))

    def _pages(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> Pages[Any, Any]:
        return Pages(_page_source(self._caller, operation, path, options, parts))

    def _stream(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> RunStream:
        return RunStream(stream_of(self._caller, operation, path, _headers_of(options), **parts["query"]))


class AsyncCalls:
    """Makes the calls of `AsyncLonghaul`."""

    _caller: Caller

    async def _json(self, operation: Operation[T], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> T:
        view: T = await self._caller.json(build(self._caller, operation, path, options, **parts))
        return view

    async def _empty(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> None:
        await self._caller.answer(build(self._caller, operation, path, options, **parts), is_json=False)

    async def _text(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> str:
        return await self._caller.text(build(self._caller, operation, path, options, **parts))

    async def _content(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> AsyncContent:
        return AsyncContent(await open_content(self._caller, build(self._caller, operation, path, options, **parts)))

    def _pages(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> AsyncPages[Any, Any]:
        return AsyncPages(_page_source(self._caller, operation, path, options, parts))

    def _stream(self, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], **parts: Any) -> AsyncRunStream:
        return AsyncRunStream(stream_of(self._caller, operation, path, _headers_of(options), **parts["query"]))


def _headers_of(options: Mapping[str, Any]) -> dict[str, str]:
    if unknown := options.keys() - _HEADERS.keys() - {"timeout"}:
        raise TypeError(f"a stream takes no {', '.join(sorted(unknown))}")
    return {_HEADERS[name]: str(value) for name, value in options.items() if name in _HEADERS and value is not None}


def _page_source(caller: Caller, operation: Operation[Any], path: Mapping[str, str], options: Mapping[str, Any], parts: Mapping[str, Any]) -> PageSource:
    query = dict(parts["query"])

    def request_of(cursor: str | None, offset: int | None) -> Request:
        place = {"cursor": cursor, "offset": offset}
        return build(caller, operation, path, options, query={**query, **place})

    return PageSource(caller, request_of, query.get("cursor"), query.get("offset"))
