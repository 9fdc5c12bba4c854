"""One call of an operation: its request, its tries, and what they come to."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import httpx2

from ._credentials import Credentials, Tokens
from ._errors import ApiError, ConnectionLostError, DeadlineError, LonghaulError, NotModifiedError, UnreadableReplyError
from ._generated.errors import ERRORS_BY_CODE
from ._io import Exchange, Io, now, read_all
from ._upload import Content, Upload
from ._version import __version__

T_co = TypeVar("T_co", covariant=True)

#: Longer than any answer that the server holds back on purpose (60 s).
READ_TIMEOUT_S = 75.0
MAX_BACKOFF_S = 8.0
MAX_RETRY_AFTER_S = 60.0
_REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})


class ContractDeprecationWarning(UserWarning):
    """An operation has a part that a later version of the contract will not have."""


@dataclass(frozen=True)
class Operation(Generic[T_co]):
    """A row of the contract."""

    id: str
    method: str
    path: str
    #: Whether a repeat under the same Idempotency-Key gets the same reply.
    has_key: bool = False
    #: Whether the client's credential is sent.
    has_credential: bool = True
    is_form: bool = False


@dataclass
class Request:
    """A call before its first try."""

    operation: Operation[Any]
    url: str
    headers: dict[str, str]
    body: Content | None = None
    #: For the whole call, retries included; None: as long as it takes.
    timeout_s: float | None = None
    #: Instead of the client's own.
    bearer: str | None = None
    silence_s: float = READ_TIMEOUT_S

    @property
    def is_repeatable(self) -> bool:
        """Whether a try that may have been carried out can be made again."""
        operation = self.operation
        return operation.method in _REPEATABLE_METHODS or operation.has_key or (operation.method == "PATCH" and "If-Match" in self.headers)

    @property
    def can_be_sent_again(self) -> bool:
        return self.body is None or self.body.is_repeatable


@dataclass(frozen=True)
class ReplyFacts:
    """What a reply says beside its body."""

    status: int
    etag: str | None
    location: str | None
    correlation_id: str | None
    #: Whether it is the stored reply of an earlier request with the same Idempotency-Key.
    is_replay: bool
    #: Seconds since the epoch on the server's clock; None if it does not tell.
    server_time: float | None = field(default=None, compare=False)


class View(dict[str, Any]):
    """The JSON object of a reply, which remembers what its reply said beside it (`reply_of`)."""

    reply: ReplyFacts


def reply_of(view: Mapping[str, Any]) -> ReplyFacts:
    """Status, ETag and further facts of the reply that brought this view. ValueError for a part of a view, or a copy."""
    if not isinstance(view, View):
        raise ValueError("only what a call returned, as it returned it, has a reply")
    return view.reply


def etag_of(view: Mapping[str, Any]) -> str:
    """The version of a view, for `if_match` and `if_none_match`. ValueError for one that came without, so that no change goes unguarded by mistake."""
    etag = reply_of(view).etag
    if etag is None:
        raise ValueError("the reply had no ETag; read the object first")
    return etag


@dataclass(frozen=True)
class Answer:
    """A good reply: its body is read, or still to be read from `exchange`."""

    facts: ReplyFacts
    exchange: Exchange
    body: bytes = b""
    #: What a body of JSON says.
    value: Any = None


@dataclass(frozen=True)
class RetryPolicy:
    max_tries: int = 5
    timeout_s: float | None = 120.0


class Caller:
    """Sends requests to one deployment, and repeats them where that is safe."""

    def __init__(self, io: Io, base_url: str, credentials: Credentials, policy: RetryPolicy) -> None:
        self.io = io
        self.base_url = _checked_base(base_url)
        self._credentials = credentials
        self.policy = policy
        self._warned: set[str] = set()
        #: Client-owned tool calls that this process has taken up.
        self.taken_calls: set[str] = set()

    async def json(self, request: Request) -> Any:
        """The JSON of a good reply; None where it has no body."""
        answer = await self.answer(request)
        if isinstance(answer.value, dict):
            view = View(answer.value)
            view.reply = answer.facts
            return view
        return answer.value

    async def text(self, request: Request) -> str:
        return (await self.answer(request, is_json=False)).body.decode("utf-8", "replace")

    async def answer(self, request: Request, *, is_read: bool = True, is_json: bool = True) -> Answer:
        """The first good reply. `is_read`: with its whole body, so that one which breaks off is asked for again."""
        ends_at = None if request.timeout_s is None else now() + request.timeout_s
        tries = 0
        is_renewed = maybe_applied = False
        while True:
            left = READ_TIMEOUT_S if ends_at is None else ends_at - now()
            if left <= 0:
                raise _marked(DeadlineError(f"{request.operation.id} took longer than {request.timeout_s} s"), maybe_applied)
            bearer = self._bearer(request)
            outcome = await self._try(request, bearer, left, (is_read, is_json))
            if isinstance(outcome, Answer):
                return outcome

            code = getattr(outcome, "code", None)
            if code == "token_expired" and not is_renewed and request.bearer is None and request.can_be_sent_again:
                is_renewed = True
                if await self._credentials.renew(bearer, self._refresh):
                    continue
            if maybe_applied and code == "not_found" and request.operation.method == "DELETE":
                return Answer(_no_facts, _NoExchange())
            maybe_applied = maybe_applied or _may_have_been_applied(request, outcome)
            # While another process still holds the first try's reservation the answer is to come: no try has failed.
            tries += 0 if code == "idempotency_in_progress" else 1
            wait_s = self._wait_before_next(request, outcome, tries)
            if wait_s is None or (ends_at is not None and now() + wait_s >= ends_at):
                raise _marked(outcome, maybe_applied)
            await self.io.sleep(wait_s)

    async def _try(self, request: Request, bearer: str | None, left_s: float, read: tuple[bool, bool]) -> Answer | LonghaulError:
        is_read, is_json = read
        headers = {**request.headers, "Accept-Encoding": "gzip"} if is_read else {**request.headers, "Accept-Encoding": "identity"}
        headers["User-Agent"] = f"longhaul-python/{__version__}"
        if bearer is not None:
            headers["Authorization"] = f"Bearer {bearer}"
        content = None
        if request.body is not None:
            headers.update(request.body.headers())
            content = request.body.open(self.io)
        silence_s = min(request.silence_s, left_s)
        timeout = httpx2.Timeout(connect=min(10.0, left_s), read=silence_s, write=silence_s, pool=silence_s)
        sent = self.io.request(request.operation.method, request.url, headers, content, timeout)
        try:
            exchange = await self.io.send(sent)
            if exchange.status < 300:
                return await self._good(request, exchange, is_read, is_json)
            return _failure_of(exchange, await read_all(exchange))
        except ConnectionLostError as lost:
            return lost

    async def _good(self, request: Request, exchange: Exchange, is_read: bool, is_json: bool) -> Answer | LonghaulError:
        self._warn_if_deprecated(request.operation, exchange.headers)
        facts = _facts_of(exchange)
        if not is_read:
            return Answer(facts, exchange)
        body = await read_all(exchange)
        if not is_json or not body:
            return Answer(facts, exchange, body)
        value = _json_of(exchange.headers, body)
        return _unreadable(exchange, "the reply is not JSON") if value is _NO_JSON else Answer(facts, exchange, body, value)

    def _bearer(self, request: Request) -> str | None:
        if request.bearer is not None:
            return request.bearer
        return self._credentials.bearer() if request.operation.has_credential else None

    def _wait_before_next(self, request: Request, failure: LonghaulError, tries: int) -> float | None:
        """Seconds until the next try; None if there is none."""
        if not request.can_be_sent_again or tries >= self.policy.max_tries:
            return None
        backoff_s = random.uniform(0, min(MAX_BACKOFF_S, 2.0**tries))
        if isinstance(failure, ConnectionLostError):
            return backoff_s if request.is_repeatable else None
        if not isinstance(failure, ApiError) or not (failure.retryable and (request.is_repeatable or failure.status == 429)):
            return None
        if failure.retry_after_s is None:
            return backoff_s
        # Those who were told the same time do not come back at the same instant.
        return failure.retry_after_s + random.uniform(0, min(1.0, failure.retry_after_s)) if failure.retry_after_s <= MAX_RETRY_AFTER_S else None

    async def _refresh(self, token: str) -> Tokens:
        body = Upload.json({"refresh_token": token})
        request = Request(_REFRESH_TOKENS, self.base_url + _REFRESH_TOKENS.path, {"Accept": "application/json"}, body, 30.0)
        view = await self.json(request)
        return Tokens(view["access_token"], view["refresh_token"])

    def _warn_if_deprecated(self, operation: Operation[Any], headers: httpx2.Headers) -> None:
        if "deprecation" in headers and operation.id not in self._warned:
            self._warned.add(operation.id)
            text = f"{operation.id} has a deprecated part (sunset {headers.get('sunset', 'unknown')}): {headers.get('link', 'GET /deprecations')}"
            warnings.warn(text, ContractDeprecationWarning, stacklevel=2)


_REFRESH_TOKENS: Operation[Any] = Operation("refreshTokens", "POST", "/auth/refresh", has_credential=False)


def make_url(base_url: str, operation: Operation[Any], path: Mapping[str, str], query: Mapping[str, Any]) -> str:
    """The address of a call. Values of the path can't reach beyond their segment."""
    url = operation.path
    for name, value in path.items():
        text = str(value)
        if text in {"", ".", ".."}:
            raise ValueError(f"{name} must not be {text!r}")
        url = url.replace(f"{{{name}}}", quote(text, safe=""))
    pairs = [(name, _query_text(one)) for name, value in query.items() if value is not None for one in _each(value)]
    return f"{base_url}{url}?{urlencode(pairs)}" if pairs else base_url + url


def _each(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _query_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _checked_base(base_url: str) -> str:
    url = httpx2.URL(base_url)
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError("base_url must be an http or https address without user, query and fragment")
    return base_url.rstrip("/")


def _marked(error: LonghaulError, maybe_applied: bool) -> LonghaulError:
    error.maybe_applied = maybe_applied
    return error


def _may_have_been_applied(request: Request, failure: LonghaulError) -> bool:
    if request.operation.method in {"GET", "HEAD"}:
        return False
    if isinstance(failure, ConnectionLostError):
        return failure.was_sent
    return isinstance(failure, ApiError) and failure.status >= 500


_NO_JSON = object()


def _json_of(headers: httpx2.Headers, body: bytes) -> Any:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        return _NO_JSON
    try:
        return json.loads(body)
    except ValueError:
        return _NO_JSON


def _facts_of(exchange: Exchange) -> ReplyFacts:
    headers = exchange.headers
    return ReplyFacts(
        status=exchange.status,
        etag=headers.get("etag"),
        location=headers.get("location"),
        correlation_id=headers.get("x-correlation-id"),
        is_replay=headers.get("idempotency-replayed") == "true",
        server_time=_date_of(headers.get("date")),
    )


def _date_of(text: str | None) -> float | None:
    try:
        return None if text is None else parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None


def _failure_of(exchange: Exchange, body: bytes) -> LonghaulError:
    if exchange.status == 304:
        return NotModifiedError("what if_none_match names is the current version")
    try:
        envelope = json.loads(body)
    except ValueError:
        return _unreadable(exchange, "the reply is not an error of the API")
    if not isinstance(envelope, dict) or not isinstance(envelope.get("code"), str) or envelope.get("status") != exchange.status:
        return _unreadable(exchange, "the reply is not an error of the API")
    return error_of(envelope, _retry_after_of(exchange.headers))


def error_of(envelope: Mapping[str, Any], retry_after_s: float | None = None) -> ApiError:
    """The exception for an error envelope."""
    error = ERRORS_BY_CODE.get(str(envelope.get("code")), ApiError)(envelope)
    if error.retry_after_s is None:
        error.retry_after_s = retry_after_s
    return error


def _unreadable(exchange: Exchange, what: str) -> ApiError:
    status = exchange.status
    passing = {408, 429, 502, 503, 504}
    return UnreadableReplyError(
        {
            "code": "unreadable_reply",
            "status": status,
            "detail": f"{what}; something between client and server may have answered",
            "retryable": status in passing,
            "retry_after_s": _retry_after_of(exchange.headers),
            "correlation_id": exchange.headers.get("x-correlation-id"),
        }
    )


def _retry_after_of(headers: httpx2.Headers) -> float | None:
    text = headers.get("retry-after", "").strip()
    if text.isdigit():
        return float(text)
    at = _date_of(text) if text else None
    return None if at is None else max(0.0, at - time())


class _NoExchange:
    """Of a reply that was lost, while what it told is known."""

    status = 204
    headers = httpx2.Headers()

    async def chunk(self) -> bytes | None:
        return None

    async def close(self) -> None:
        return None


_no_facts = ReplyFacts(status=204, etag=None, location=None, correlation_id=None, is_replay=False)
