"""What proves who calls: a service key, or a session whose access token is refreshed when it has expired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Union

from ._errors import ApiError, ConnectionLostError, LonghaulError
from ._io import Io, now


@dataclass(frozen=True)
class Tokens:
    """The two tokens of a session. Their text is never shown."""

    access_token: str = field(repr=False)
    #: Each refresh token is valid once; without one the session ends with its access token.
    refresh_token: str | None = field(default=None, repr=False)


OnTokens = Callable[[Tokens], Union[None, Awaitable[None]]]
LoadTokens = Callable[[], Union[Tokens, None, Awaitable[Union[Tokens, None]]]]

#: Sends a refresh token to the server; answers with new tokens.
Refresh = Callable[[str], Awaitable[Tokens]]


class Credentials(Protocol):
    """What goes into the Authorization header."""

    def bearer(self) -> str | None: ...

    async def renew(self, expired: str | None, refresh: Refresh) -> bool:
        """Replaces a token that has expired; False if nothing can."""


class NoCredentials:
    """For operations that anybody may call."""

    def bearer(self) -> str | None:
        return None

    async def renew(self, expired: str | None, refresh: Refresh) -> bool:
        return False


class ServiceKey:
    """A key of a back end. It does not expire while it is used."""

    def __init__(self, key: str) -> None:
        self._key = checked_credential(key, "service_key")

    def bearer(self) -> str | None:
        return self._key

    async def renew(self, expired: str | None, refresh: Refresh) -> bool:
        return False


#: A refresh token that was used longer ago than ten seconds ends its session, so a lost refresh is repeated only within this time.
_REPEAT_REFRESH_WITHIN_S = 5
#: How often, and at which distance, the winner's tokens are looked for.
_LOADS = 12
_LOAD_EVERY_S = 0.7


class Session:
    """A signed-in person. However many calls find the token expired, one refresh is made."""

    def __init__(self, io: Io, tokens: Tokens, on_tokens: OnTokens | None, load_tokens: LoadTokens | None) -> None:
        checked_credential(tokens.access_token, "access_token")
        self._io = io
        self._tokens = tokens
        # Refreshed, but not yet stored by the caller; not used before.
        self._unsaved: Tokens | None = None
        self._on_tokens = on_tokens
        self._load_tokens = load_tokens

    def bearer(self) -> str | None:
        return self._tokens.access_token

    async def renew(self, expired: str | None, refresh: Refresh) -> bool:
        # Whoever waits may be cancelled; a refresh in the middle must not, since its tokens would be lost and the old one is spent.
        return await self._io.finish(self._renew(expired, refresh))

    async def _renew(self, expired: str | None, refresh: Refresh) -> bool:
        async with self._io.lock():
            if self._tokens.access_token != expired:
                return True
            if self._unsaved is None:
                if self._tokens.refresh_token is None:
                    return False
                if await self._refresh(self._tokens.refresh_token, refresh):
                    return True
            await self._save()
            return True

    async def _save(self) -> None:
        if self._unsaved is not None:
            if self._on_tokens is not None:
                await self._io.call(self._on_tokens, self._unsaved)
            self._tokens, self._unsaved = self._unsaved, None

    async def _refresh(self, token: str, refresh: Refresh) -> bool:
        """True if another process had refreshed already, and its tokens are in use now."""
        began = now()
        failure: LonghaulError
        while True:
            try:
                self._unsaved = await refresh(token)
                return False
            except ConnectionLostError as error:
                failure = error
            except ApiError as error:
                failure = error
            is_early = now() - began < _REPEAT_REFRESH_WITHIN_S
            is_passing = isinstance(failure, ConnectionLostError) or (failure.status >= 500 and failure.retryable)
            if not (is_passing and is_early):
                break
            await self._io.sleep(0.3)
        if await self._adopt(token, failure):
            return True
        raise failure

    async def _adopt(self, spent: str, failure: LonghaulError) -> bool:
        """Takes the tokens that the winner of a race has stored, once it has."""
        if self._load_tokens is None or getattr(failure, "code", "") not in {"refresh_superseded", "credential_invalid", ""}:
            return False
        for _ in range(_LOADS):
            loaded: Any = await self._io.call(self._load_tokens)
            if isinstance(loaded, Tokens) and loaded.refresh_token != spent:
                self._tokens = loaded
                return True
            await self._io.sleep(_LOAD_EVERY_S)
        return False


def checked_credential(text: str, name: str) -> str:
    """Returns a credential that fits in a header; the error does not repeat it."""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"{name} must be printable ASCII without spaces")
    return text
