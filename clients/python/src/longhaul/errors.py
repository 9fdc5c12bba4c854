"""Every error: a class for each code of the contract, and those of the client itself."""

from ._errors import (
    ApiError,
    ClientClosedError,
    ConnectionLostError,
    CursorRepeatedError,
    DeadlineError,
    LonghaulError,
    NotModifiedError,
    RunEndedError,
    UnreadableReplyError,
    WebhookVerificationError,
)
from ._generated.errors import *  # noqa: F403
from ._generated.errors import __all__ as _codes

__all__ = [
    "ApiError",
    "ClientClosedError",
    "ConnectionLostError",
    "CursorRepeatedError",
    "DeadlineError",
    "LonghaulError",
    "NotModifiedError",
    "RunEndedError",
    "UnreadableReplyError",
    "WebhookVerificationError",
]
__all__ += _codes
