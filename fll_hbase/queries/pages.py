"""Lists in pages: at most so many items after a cursor, and the cursor of the next page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from fll_hbase.queries.cursors import INVALID, decode_cursor, encode_cursor
from fll_hbase.queries.parameters import About
from fll_hbase.store.lineage_store import LineageStore

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Paged:
    """A page of a list; `items` is the member of the body that has it, "" for a body that is the list."""

    items: ClassVar[str] = ""
    joins_pages: ClassVar[bool] = True
    """Whether pages are parts of one list."""
    reads_all: ClassVar[bool] = False
    """Whether clients without a limit read all pages."""

    limit: Annotated[int | None, About(minimum=1)] = None
    cursor: Annotated[str | None, About("From the link to the next page", empty=INVALID)] = None

    def page_limit(self, store: LineageStore) -> int:
        """Return the most items of a page: `limit` or FLL_LIST_LIMIT, at most FLL_LIST_LIMIT_MAX."""
        return min(self.limit or store.settings.list_limit, store.settings.list_limit_max)

    def items_of(self, body: Any) -> Sequence[Any]:
        """Return the items of a page."""
        items: Sequence[Any] = getattr(body, self.items) if self.items else body
        return items

    def join(self, first: Any, last: Any, items: Sequence[Any]) -> Any:
        """Return one page with the items of all, from the first to the last page."""
        return msgspec.structs.replace(last, **{self.items: tuple(items)}) if self.items else tuple(items)

    def start_after(self, count: int) -> list[str]:
        """Return the `count` names of the item before the page, all "" for the first page.

        Raises InvalidQuery for an invalid cursor.
        """
        return [""] * count if self.cursor is None else decode_cursor(self.cursor, count)


def first_page(entries: Iterator[T], limit: int, names: Callable[[T], Sequence[str]]) -> tuple[list[T], str]:
    """Return at most `limit` entries and the cursor of the next page, "" if there are no more.

    `names` returns the names of an entry by which the next page finds its place.
    """
    # One more than shown: it decides whether there is a next page, so that no last page is empty.
    page = list(islice(entries, limit + 1))
    # A name and not an offset: names that are added meanwhile shift no page.
    return page[:limit], encode_cursor(*names(page[limit - 1])) if len(page) > limit else ""
