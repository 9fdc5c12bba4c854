"""Lists: the items of all pages, each page asked for when its first item is due."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar

from ._call import Caller, Request
from ._errors import CursorRepeatedError
from ._io import blocking

Item = TypeVar("Item")
Page = TypeVar("Page")

#: Makes the request for a page, from its cursor or its offset.
RequestOf = Callable[[str | None, int | None], Request]


class PageSource:
    """Where a list begins, and how to ask for its pages."""

    def __init__(self, caller: Caller, request_of: RequestOf, cursor: str | None, offset: int | None) -> None:
        self.caller = caller
        self.request_of = request_of
        self.cursor = cursor
        self.offset = offset

    async def page(self) -> Any:
        return await self.caller.json(self.request_of(self.cursor, self.offset))


class _Items:
    """One walk through a list."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._cursor = source.cursor
        self._offset = source.offset
        self._seen: set[str] = set()
        self._items: deque[Any] = deque()
        self._is_last = False

    async def next(self) -> tuple[Any] | None:
        """The next item, alone in a tuple; None at the end."""
        while not self._items:
            if self._is_last:
                return None
            await self._load()
        return (self._items.popleft(),)

    async def _load(self) -> None:
        if self._cursor is not None:
            self._seen.add(self._cursor)
        page = await self._source.caller.json(self._source.request_of(self._cursor, self._offset))
        items = page["items"]
        cursor, total = page.get("next_cursor"), page.get("total")
        if cursor is not None and cursor in self._seen:
            raise CursorRepeatedError("the list answered with a cursor that it had given before")
        self._items.extend(items)
        self._cursor = cursor
        if cursor is not None:
            self._offset = None
            return
        # Lists without a cursor, and those that are asked for from an offset, count.
        self._offset = (self._offset or 0) + len(items)
        self._is_last = total is None or not items or self._offset >= total


class Pages(Generic[Item, Page]):
    """A list. Iterating goes over the items of all pages; `page()` asks for one page alone."""

    def __init__(self, source: PageSource) -> None:
        self._source = source

    def page(self) -> Page:
        page: Page = blocking(self._source.page())
        return page

    def __iter__(self) -> Iterator[Item]:
        items = _Items(self._source)
        while (item := blocking(items.next())) is not None:
            yield item[0]


class AsyncPages(Generic[Item, Page]):
    """A list. Iterating goes over the items of all pages; `page()` asks for one page alone."""

    def __init__(self, source: PageSource) -> None:
        self._source = source

    async def page(self) -> Page:
        page: Page = await self._source.page()
        return page

    async def __aiter__(self) -> AsyncIterator[Item]:
        items = _Items(self._source)
        while (item := await items.next()) is not None:
            yield item[0]
