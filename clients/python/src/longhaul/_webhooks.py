"""Verifies what the platform sends: Standard Webhooks 1.0 (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ._errors import WebhookVerificationError

TOLERANCE_S = 300
_PREFIX = "whsec_"


class WebhookEvent(TypedDict):
    """The body of a webhook. `data` depends on `type`."""

    type: str
    timestamp: str
    data: dict[str, Any]


def verify_webhook(body: bytes, headers: Mapping[str, Any], secrets: str | Sequence[str], *, now: float | None = None) -> WebhookEvent:
    """
    Returns the event of a webhook that was signed with one of the secrets at most five minutes ago.

    `body` is the request's raw body: what a framework has parsed and printed again has another signature. `headers` may be of any framework, their
    names in any case. While a secret is rotated, give both. Raises WebhookVerificationError, and nothing else.
    """
    try:
        return _verified(body, headers, [secrets] if isinstance(secrets, str) else list(secrets), time.time() if now is None else now)
    except WebhookVerificationError:
        raise
    except Exception:
        pass
    # Outside the handler: what went wrong may hold the body.
    raise WebhookVerificationError("the request can't be read as a webhook")


def _verified(body: bytes, headers: Mapping[str, Any], secrets: Sequence[str], now: float) -> WebhookEvent:
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise WebhookVerificationError("body must be the raw bytes of the request")
    raw = bytes(body)
    given = {str(name).lower(): _one(value) for name, value in headers.items()}
    id_, timestamp, signatures = (given.get(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature"))
    if not id_ or not timestamp or not signatures:
        raise WebhookVerificationError("a header is missing")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise WebhookVerificationError("the timestamp is not a number of seconds")
    # Every pair is compared, so that the time taken tells nothing.
    is_match = False
    signed = f"{id_}.{timestamp}.".encode() + raw
    claims = [part[3:].encode() for part in signatures.split(" ") if part.startswith("v1,")]
    for secret in secrets:
        expected = base64.b64encode(hmac.new(_key_of(secret), signed, hashlib.sha256).digest())
        for claim in claims:
            is_match = hmac.compare_digest(expected, claim) or is_match
    if not is_match:
        raise WebhookVerificationError("no signature fits")
    if abs(now - int(timestamp)) > TOLERANCE_S:
        raise WebhookVerificationError("the timestamp is too far from now")
    event: WebhookEvent = json.loads(raw)
    if not isinstance(event, dict):
        raise WebhookVerificationError("the body is not an event")
    return event


def _one(value: Any) -> str:
    """A header's text; some frameworks give lists, or bytes."""
    if isinstance(value, (list, tuple)):
        value = value[0]
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _key_of(secret: str) -> bytes:
    key = base64.b64decode(secret[len(_PREFIX) :] + "==") if secret.startswith(_PREFIX) else secret.encode()
    if not key:
        raise WebhookVerificationError("an empty secret verifies nothing")
    return key
