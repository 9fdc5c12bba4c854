"""Everything that a call can raise. No error holds a credential, a request or what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LonghaulError(Exception):
    """Base of every error of this package."""

    #: True if the change may have been made although the call failed: a reply was lost on the way.
    maybe_applied: bool = False


class ConnectionLostError(LonghaulError):
    """The connection failed or broke before the whole reply had come."""

    #: False if no byte of the request can have reached the server.
    was_sent: bool = True


class DeadlineError(LonghaulError, TimeoutError):
    """The time for the whole call, retries included, is over."""


class ClientClosedError(LonghaulError):
    """The client was closed before the call or during it."""


class NotModifiedError(LonghaulError):
    """304: what `if_none_match` names is still the current version."""


class CursorRepeatedError(LonghaulError):
    """A list answered with a cursor that it had given before, and would never end."""


class RunEndedError(LonghaulError):
    """The run ended in another way than `stop`. `run` is its last view."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        super().__init__(run)
        self.run = run

    def __str__(self) -> str:
        error = self.run.get("error") or {}
        text = f"run {self.run.get('id')} ended as {self.run.get('status')}, {self.run.get('finish_reason')}"
        return f"{text}: {error['message']}" if error.get("message") else text


class WebhookVerificationError(LonghaulError):
    """The request is not a webhook that was signed with one of the secrets in the last five minutes."""


class ApiError(LonghaulError):
    """A failing reply. Each code of the contract has a subclass; a newer server may send further codes."""

    def __init__(self, envelope: Mapping[str, Any]) -> None:
        super().__init__(dict(envelope))
        #: Which failure it is: the text to branch on.
        self.code = str(envelope.get("code"))
        self.status = int(envelope.get("status") or 0)
        self.type: str | None = envelope.get("type")
        self.title: str | None = envelope.get("title")
        #: What happened, for people.
        self.detail: str | None = envelope.get("detail")
        self.instance: str | None = envelope.get("instance")
        #: Whether the same request, unchanged, can succeed later.
        self.retryable = bool(envelope.get("retryable"))
        self.retry_after_s: float | None = envelope.get("retry_after_s")
        #: Finds the request in the server's logs and audit log.
        self.correlation_id: str | None = envelope.get("correlation_id")
        #: What was wrong with the request, by place.
        self.errors: list[dict[str, Any]] = list(envelope.get("errors") or [])
        #: Facts about this failure, for example `reason` or `etag`.
        self.context: dict[str, Any] = dict(envelope.get("context") or {})
        #: OAuth operations only: code and text of the RFC.
        self.error: str | None = envelope.get("error")
        self.error_description: str | None = envelope.get("error_description")

    @property
    def reason(self) -> str | None:
        """Which case of the code it is, where the contract tells several apart."""
        reason = self.context.get("reason")
        return None if reason is None else str(reason)

    def __str__(self) -> str:
        parts = [f"{self.status} {self.code}"]
        if self.reason:
            parts.append(f"({self.reason})")
        text = f"{' '.join(parts)}: {self.detail or self.title or ''}"
        places = "; ".join(f"{one.get('in')} {one.get('pointer') or one.get('name') or ''}: {one.get('message')}" for one in self.errors[:3])
        text = f"{text} [{places}]" if places else text
        return f"{text} (correlation id {self.correlation_id})" if self.correlation_id else text


class UnreadableReplyError(ApiError):
    """A reply that is not one of the API's, for example a proxy's own page. Its code is `unreadable_reply`."""
