"""Made from the served document by clients/generate/python; do not edit."""

from __future__ import annotations

from .._errors import ApiError


class MalformedRequestError(ApiError):
    """A reply with the code `malformed_request`."""


class OauthRequestInvalidError(ApiError):
    """A reply with the code `oauth_request_invalid`."""


class UnauthenticatedError(ApiError):
    """A reply with the code `unauthenticated`."""


class CredentialInvalidError(ApiError):
    """A reply with the code `credential_invalid`."""


class TokenExpiredError(ApiError):
    """A reply with the code `token_expired`."""


class LoginFailedError(ApiError):
    """A reply with the code `login_failed`."""


class MfaRequiredError(ApiError):
    """A reply with the code `mfa_required`."""


class MfaCodeInvalidError(ApiError):
    """A reply with the code `mfa_code_invalid`."""


class SessionRevokedError(ApiError):
    """A reply with the code `session_revoked`."""


class RefreshReuseDetectedError(ApiError):
    """A reply with the code `refresh_reuse_detected`."""


class StreamTokenInvalidError(ApiError):
    """A reply with the code `stream_token_invalid`."""


class StreamTokenUsedError(ApiError):
    """A reply with the code `stream_token_used`."""


class SignatureInvalidError(ApiError):
    """A reply with the code `signature_invalid`."""


class BudgetExceededError(ApiError):
    """A reply with the code `budget_exceeded`."""


class RoleInsufficientError(ApiError):
    """A reply with the code `role_insufficient`."""


class ScopeInsufficientError(ApiError):
    """A reply with the code `scope_insufficient`."""


class ResourceForbiddenError(ApiError):
    """A reply with the code `resource_forbidden`."""


class RegistrationDisabledError(ApiError):
    """A reply with the code `registration_disabled`."""


class NotFoundError(ApiError):
    """A reply with the code `not_found`."""


class MethodNotAllowedError(ApiError):
    """A reply with the code `method_not_allowed`."""


class AlreadyExistsError(ApiError):
    """A reply with the code `already_exists`."""


class StateConflictError(ApiError):
    """A reply with the code `state_conflict`."""


class IdempotencyInProgressError(ApiError):
    """A reply with the code `idempotency_in_progress`."""


class RefreshSupersededError(ApiError):
    """A reply with the code `refresh_superseded`."""


class GoneError(ApiError):
    """A reply with the code `gone`."""


class PreconditionFailedError(ApiError):
    """A reply with the code `precondition_failed`."""


class PayloadTooLargeError(ApiError):
    """A reply with the code `payload_too_large`."""


class UnsupportedMediaTypeError(ApiError):
    """A reply with the code `unsupported_media_type`."""


class ValidationFailedError(ApiError):
    """A reply with the code `validation_failed`."""


class CursorInvalidError(ApiError):
    """A reply with the code `cursor_invalid`."""


class IdempotencyKeyMismatchError(ApiError):
    """A reply with the code `idempotency_key_mismatch`."""


class ResourceFrozenError(ApiError):
    """A reply with the code `resource_frozen`."""


class PreconditionRequiredError(ApiError):
    """A reply with the code `precondition_required`."""


class RateLimitedError(ApiError):
    """A reply with the code `rate_limited`."""


class InternalError(ApiError):
    """A reply with the code `internal_error`."""


class UpstreamFailedError(ApiError):
    """A reply with the code `upstream_failed`."""


class ServiceUnavailableError(ApiError):
    """A reply with the code `service_unavailable`."""


class UpstreamTimeoutError(ApiError):
    """A reply with the code `upstream_timeout`."""


ERRORS_BY_CODE: dict[str, type[ApiError]] = {
    "malformed_request": MalformedRequestError,
    "oauth_request_invalid": OauthRequestInvalidError,
    "unauthenticated": UnauthenticatedError,
    "credential_invalid": CredentialInvalidError,
    "token_expired": TokenExpiredError,
    "login_failed": LoginFailedError,
    "mfa_required": MfaRequiredError,
    "mfa_code_invalid": MfaCodeInvalidError,
    "session_revoked": SessionRevokedError,
    "refresh_reuse_detected": RefreshReuseDetectedError,
    "stream_token_invalid": StreamTokenInvalidError,
    "stream_token_used": StreamTokenUsedError,
    "signature_invalid": SignatureInvalidError,
    "budget_exceeded": BudgetExceededError,
    "role_insufficient": RoleInsufficientError,
    "scope_insufficient": ScopeInsufficientError,
    "resource_forbidden": ResourceForbiddenError,
    "registration_disabled": RegistrationDisabledError,
    "not_found": NotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "already_exists": AlreadyExistsError,
    "state_conflict": StateConflictError,
    "idempotency_in_progress": IdempotencyInProgressError,
    "refresh_superseded": RefreshSupersededError,
    "gone": GoneError,
    "precondition_failed": PreconditionFailedError,
    "payload_too_large": PayloadTooLargeError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "validation_failed": ValidationFailedError,
    "cursor_invalid": CursorInvalidError,
    "idempotency_key_mismatch": IdempotencyKeyMismatchError,
    "resource_frozen": ResourceFrozenError,
    "precondition_required": PreconditionRequiredError,
    "rate_limited": RateLimitedError,
    "internal_error": InternalError,
    "upstream_failed": UpstreamFailedError,
    "service_unavailable": ServiceUnavailableError,
    "upstream_timeout": UpstreamTimeoutError,
}


__all__ = [
    "ERRORS_BY_CODE",
    "MalformedRequestError",
    "OauthRequestInvalidError",
    "UnauthenticatedError",
    "CredentialInvalidError",
    "TokenExpiredError",
    "LoginFailedError",
    "MfaRequiredError",
    "MfaCodeInvalidError",
    "SessionRevokedError",
    "RefreshReuseDetectedError",
    "StreamTokenInvalidError",
    "StreamTokenUsedError",
    "SignatureInvalidError",
    "BudgetExceededError",
    "RoleInsufficientError",
    "ScopeInsufficientError",
    "ResourceForbiddenError",
    "RegistrationDisabledError",
    "NotFoundError",
    "MethodNotAllowedError",
    "AlreadyExistsError",
    "StateConflictError",
    "IdempotencyInProgressError",
    "RefreshSupersededError",
    "GoneError",
    "PreconditionFailedError",
    "PayloadTooLargeError",
    "UnsupportedMediaTypeError",
    "ValidationFailedError",
    "CursorInvalidError",
    "IdempotencyKeyMismatchError",
    "ResourceFrozenError",
    "PreconditionRequiredError",
    "RateLimitedError",
    "InternalError",
    "UpstreamFailedError",
    "ServiceUnavailableError",
    "UpstreamTimeoutError",
]
