"""Client of the Longhaul API."""

from ._call import ContractDeprecationWarning, ReplyFacts, etag_of, reply_of
from ._client import AsyncLonghaul, Longhaul
from ._content import AsyncContent, Content
from ._credentials import Tokens
from ._duties import OnApproval, Tool, ToolCall, Tools
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
from ._pages import AsyncPages, Pages
from ._run import AsyncRun, Run
from ._stream import AsyncRunStream, RunStream
from ._upload import FileSource
from ._version import __version__
from ._webhooks import WebhookEvent, verify_webhook

__all__ = [
    "ApiError",
    "AsyncContent",
    "AsyncLonghaul",
    "AsyncPages",
    "AsyncRun",
    "AsyncRunStream",
    "ClientClosedError",
    "ConnectionLostError",
    "Content",
    "ContractDeprecationWarning",
    "CursorRepeatedError",
    "DeadlineError",
    "FileSource",
    "Longhaul",
    "LonghaulError",
    "NotModifiedError",
    "OnApproval",
    "Pages",
    "ReplyFacts",
    "Run",
    "RunEndedError",
    "RunStream",
    "Tokens",
    "Tool",
    "ToolCall",
    "Tools",
    "UnreadableReplyError",
    "WebhookEvent",
    "WebhookVerificationError",
    "__version__",
    "etag_of",
    "reply_of",
    "verify_webhook",
]
