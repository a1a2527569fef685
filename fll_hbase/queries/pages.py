"""Lists in pages: up to `limit` items after a cursor, and the cursor of the next page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import msgspec

from fll_hbase.keys import layout
from fll_hbase.queries.parameters import About
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import CorruptRow, FieldError, InvalidQuery
from fll_hbase.store.query_parameters import HIDDEN_AFTER

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

INVALID = "invalid cursor; omit it to start at the first page"

SKIP_DIGITS_MAX = 15
"""Maximum number of digits of the number in a cursor."""

T = TypeVar("T")


def encode_cursor(*parts: str) -> str:
    """Return the names of the last item of a page as one opaque text, after which the next page starts."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def decode_cursor(text: str, count: int) -> list[str]:
    """Return the `count` parts of a cursor of `encode_cursor`.

    Raises InvalidQuery for any other text, including "".
    """
    try:
        # Cursors have no padding, since `=` would be escaped in links. Without `validate` b64decode skips
        # characters that are not base64, and many texts would be one cursor.
        padded = text + "=" * (-len(text) % 4)
        parts = typed_json.decode(base64.b64decode(padded, b"-_", validate=True), list[str])
    except (binascii.Error, ValueError) as error:
        raise invalid_cursor() from error
    if len(parts) != count:
        raise invalid_cursor()
    return parts


def decode_runs_cursor(
    text: str | None, parse_tail: Callable[[bytes], object] = layout.parse_reference_tail
) -> bytes:
    """Return the tail of a key after which a page of runs starts, or b"" for None. Raises InvalidQuery.

    HIDDEN_AFTER and the number of hidden runs to skip may follow the tail. `parse_tail` raises CorruptRow for
    a tail that no key can have. By default it parses keys of references.
    """
    if text is None:
        return b""
    # The cursor is the tail of the last key (start and run), so it stays valid if that run is purged.
    (tail,) = decode_cursor(text, 1)
    try:
        # The text comes from a client: a tail that no key can have is an error, not an arbitrary page.
        position, mark, skipped = tail.encode().partition(HIDDEN_AFTER)
        if position or not mark:
            parse_tail(position)
        if mark and not (skipped.isdigit() and len(skipped) <= SKIP_DIGITS_MAX):
            raise invalid_cursor()
    except (CorruptRow, UnicodeEncodeError) as error:
        raise invalid_cursor() from error
    return tail.encode()


def decode_skip_cursor(text: str | None) -> int:
    """Return how many runs of each derivation a page skips, or 0 for None. Raises InvalidQuery."""
    if text is None:
        return 0
    (skip,) = decode_cursor(text, 1)
    if not (skip.isascii() and skip.isdecimal() and len(skip) <= SKIP_DIGITS_MAX):
        raise invalid_cursor()
    return int(skip)


def invalid_cursor() -> InvalidQuery:
    """Return, without raising it, the error for a cursor that no page returned."""
    return InvalidQuery([FieldError("cursor", INVALID)])


@dataclass(frozen=True, kw_only=True)
class Paged:
    """A query about a page of a list. `items` names the member with the list, "" if the body is the list."""

    items: ClassVar[str] = ""
    joins_pages: ClassVar[bool] = True
    """True if pages can be joined into one list."""
    reads_all: ClassVar[bool] = False
    """True if clients without a limit read all pages."""

    limit: Annotated[int | None, About(minimum=1)] = None
    cursor: Annotated[str | None, About("From the link to the next page", empty=INVALID)] = None

    def page_limit(self, store: LineageStore) -> int:
        """Return the page size: `limit`, by default FLL_LIST_LIMIT, at most FLL_LIST_LIMIT_MAX."""
        return min(self.limit or store.settings.list_limit, store.settings.list_limit_max)

    def items_of(self, body: Any) -> Sequence[Any]:
        """Return the items of a page."""
        items: Sequence[Any] = getattr(body, self.items) if self.items else body
        return items

    def join(self, pages: Sequence[Any], items: Sequence[Any]) -> Any:
        """Return one page with `items`, the items of all `pages`, and the limits that cut any of them.

        `retained_from` is the latest horizon of any page, and other members are those of the last page. If
        the body is the list, it is only the items.
        """
        return self._joined(pages[-1], pages, items) if self.items else tuple(items)

    def _joined(self, page: Any, pages: Sequence[Any], items: Sequence[Any]) -> Any:
        """Return a page with these items, and with the limits and the horizon of all `pages`."""
        members: dict[str, Any] = {self.items: tuple(items)}
        if hasattr(page, "truncated_by"):
            members["truncated_by"] = tuple(sorted({name for item in pages for name in item.truncated_by}))
            # None, which says that nothing is bounded, stays None.
            members["truncated"] = any(item.truncated for item in pages) or page.truncated
        if hasattr(page, "retained_from"):
            members["retained_from"] = max_or_none(item.retained_from for item in pages)
        return msgspec.structs.replace(page, **members)

    def start_after(self, count: int) -> list[str]:
        """Return the `count` names of the item before the page, all "" for the first page.

        Raises InvalidQuery for an invalid cursor.
        """
        return [""] * count if self.cursor is None else decode_cursor(self.cursor, count)


def max_or_none(values: Iterable[int | None]) -> int | None:
    """Return the greatest value that is not None, or None if there is none."""
    return max((value for value in values if value is not None), default=None)


def first_page(entries: Iterator[T], limit: int, names: Callable[[T], Sequence[str]]) -> tuple[list[T], str]:
    """Return at most `limit` entries and the cursor of the next page, "" on the last page.

    `names` returns the names of an entry, after which the next page starts.
    """
    # One entry more than the page shows decides whether there is a next page.
    page = list(islice(entries, limit + 1))
    # The cursor is a name, not an offset: names that are added between two pages shift nothing.
    return page[:limit], encode_cursor(*names(page[limit - 1])) if len(page) > limit else ""
