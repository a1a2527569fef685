"""Answers for assistants: JSON of bounded size that says what was left out, and how to go on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import msgspec

from fll_hbase.client.connection import truncation_hint
from fll_hbase.queries.pages import Paged
from fll_hbase.queries.query import Answer, Query
from fll_hbase.queries.time_window import epoch_seconds, iso_text
from fll_hbase.runtime.json_types import Json

ReadAnswer = Callable[[Query[Any]], Answer[Any]]

_NOTES_BYTES = 1_600
"""Bytes that are kept for the members beside the body, without the cursor."""

_READS_MAX = 4
"""How often a page is read, with a smaller `limit` each time, so that no item is lost between two pages."""

_ADVICE = "use a narrower window, a smaller `level` or `limit`, or a tool about one part of it"
_MEMBERS_MAX = 100
_CUTS_LISTED_MAX, _PATH_CHARACTERS_MAX = 4, 40
_TEXTS = (None, 400, 80)
"""Lengths of texts to try in turn, in characters; None leaves texts as they are."""

_TIME_NAME = re.compile(r"(^|[a-z_])(start|end|time|written|from|seconds)$", re.IGNORECASE)
_MS_MIN, _SECONDS_MIN = 10**11, 10**8
"""From these values on a number in a member with a name of a time is a time: of 1973 in both units.

No count of a member with such a name is as large.
"""


def bounded_answer(query: Query[Any], read: ReadAnswer, *, bytes_max: int) -> Json:
    """Return the answer to a query as JSON of at most `bytes_max` bytes (4,000 or more) beside its cursor.

    `answer` is the body, with times as ISO 8601 in UTC. `window` is the window in the same form. `complete`
    says whether all is there. If not, `leftOut` says what is missing and why. If there is a next page, `next`
    has its arguments. `baseWindow` and `retainedFrom` are there if the answer has them. A page that does not
    fit is read again with a smaller limit, _READS_MAX times at most in all. Raises the errors of `read`.
    """
    for reads_left in reversed(range(_READS_MAX)):
        answer = read(query)
        body, cuts = _fit(msgspec.to_builtins(answer.body), bytes_max - _NOTES_BYTES)
        smaller = _smaller_limit(query, cuts)
        if smaller is None:
            break
        # The last read is of one item: the cursor of a page that is still cut would skip the rest.
        limit = smaller if reads_left > 1 else 1
        query = replace(query, limit=limit)  # type: ignore[type-var]  # queries are dataclasses
    return _described(query, answer, body, cuts, bytes_max=bytes_max)


@dataclass(slots=True)
class _Cuts:
    """Parts left out of a body: by the path of a list, its items that are shown and in all; cut texts."""

    shown: Counter[str] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    texts: int = 0

    def first(self, items: Collection[Any], items_max: int, path: str) -> Iterable[Any]:
        """Return the first `items_max` items of a list, and count them for its path."""
        # Equal paths occur once for each item of an outer list, and are counted together.
        self.listed[path] += len(items)
        self.shown[path] += min(len(items), items_max)
        return islice(items, items_max)

    def lists(self) -> list[str]:
        """Return the paths of lists that lack items, the longest lists first."""
        return [path for path, count in self.listed.most_common() if self.shown[path] < count]

    def lines(self) -> list[str]:
        """Return lines about the four longest lists that lack items, and about cut texts."""
        lines = [
            f"{path[:_PATH_CHARACTERS_MAX] or 'answer'}: {self.shown[path]:,} of {self.listed[path]:,} items"
            for path in self.lists()[:_CUTS_LISTED_MAX]
        ]
        return [*lines, *([f"{self.texts:,} texts are cut"] if self.texts else [])]


def _smaller_limit(query: Query[Any], cuts: _Cuts) -> int | None:
    """Return a smaller limit for a page whose list was cut, None if it was not or has no limit above 1."""
    if not isinstance(query, Paged) or query.limit is None or query.limit == 1:
        return None
    if not query.joins_pages:
        return max(1, query.limit // 4) if cuts.lists() else None
    return max(1, cuts.shown[query.items]) if query.items in cuts.lists() else None


def _described(query: Query[Any], answer: Answer[Any], body: Any, cuts: _Cuts, *, bytes_max: int) -> Json:
    """Return the JSON of an answer: window, completeness, the next page, and the body."""
    left_out = [truncation_hint(answer.truncated_by)] if answer.truncated_by else []
    if lines := cuts.lines():
        left_out += [*lines, f"cut to FLL_MCP_BYTES_MAX={bytes_max}: {_ADVICE}"]
    if answer.cursor:
        left_out.append("more items follow: call the tool again with the arguments in `next` added")
    described: Json = {
        name: {"start": iso_text(window.start_ms), "end": iso_text(window.stop_ms)}
        for name, window in (("window", answer.window), ("baseWindow", answer.base_window))
        if window is not None
    }
    if answer.retained_from_ms is not None:
        described["retainedFrom"] = iso_text(answer.retained_from_ms)
    described["complete"] = not left_out
    if left_out:
        described["leftOut"] = left_out
    if answer.cursor:
        described["next"] = _next_arguments(query, answer)
    return described | {"answer": body}


def _next_arguments(query: Query[Any], answer: Answer[Any]) -> Json:
    """Return the arguments of the next page: the cursor, the limit, and the exact window of this page."""
    arguments: Json = {"cursor": answer.cursor, "limit": getattr(query, "limit", None)}
    if answer.window is not None:
        arguments |= {
            "start": epoch_seconds(answer.window.start_ms),
            "end": epoch_seconds(answer.window.stop_ms),
        }
    return {name: value for name, value in arguments.items() if value is not None}


def _fit(body: Any, bytes_max: int) -> tuple[Any, _Cuts]:
    """Return a body in at most `bytes_max` bytes, and what was left out.

    All lists get the same greatest length, so that each list of an answer shows its first items. If not even
    one item of each fits, the body is the beginning of its JSON, a string. The time grows with `bytes_max`
    and the logarithm of the length of lists, after one pass over a body that fits.
    """
    for characters_max in _TEXTS:
        shortened = _fit_lists(body, bytes_max, characters_max)
        if shortened is not None:
            return shortened
    cuts = _Cuts(texts=1)
    text = msgspec.json.encode(_shorten(body, 1, _TEXTS[-1], cuts)).decode()
    # Quotes of a text in a text are escaped, so that each character may need several bytes.
    return text[: bytes_max // 6], cuts


def _fit_lists(body: Any, bytes_max: int, characters_max: int | None) -> tuple[Any, _Cuts] | None:
    """Return a body whose lists have as many items as fit, or None if not even one item of each fits."""

    def shorten(items_max: int) -> tuple[Any, _Cuts] | None:
        cuts = _Cuts()
        shortened = _shorten(body, items_max, characters_max, cuts)
        return (shortened, cuts) if len(msgspec.json.encode(shortened)) <= bytes_max else None

    best, fits, too_many = shorten(1), 1, 2
    while best is not None and best[1].lists() and (larger := shorten(too_many)):
        best, fits, too_many = larger, too_many, 2 * too_many
    if best is None or not best[1].lists():
        return best
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if larger := shorten(middle):
            best, fits = larger, middle
        else:
            too_many = middle
    return best


def _shorten(
    value: Any, items_max: int, characters_max: int | None, cuts: _Cuts, *, path: str = "", name: str = ""
) -> Any:
    """Return JSON with at most `items_max` items in each list, cut texts, and times as ISO 8601.

    An object keeps its first _MEMBERS_MAX members.
    `path` has the names of the members that lead to the value, without positions, and `name` the last one.
    What is left out is added to `cuts`.
    """
    match value:
        case str():
            if characters_max is None or len(value) <= characters_max:
                return value
            cuts.texts += 1
            return f"{value[:characters_max]}…"
        case dict():
            members = cuts.first(value.items(), _MEMBERS_MAX, f"{path}.*")
            return {
                key: _shorten(
                    item, items_max, characters_max, cuts, path=f"{path}.{key}" if path else key, name=key
                )
                for key, item in members
            }
        case list() | tuple():
            items = cuts.first(value, items_max, path)
            return [_shorten(item, items_max, characters_max, cuts, path=path) for item in items]
        case _:
            return _time_text(name, value)


def _time_text(name: str, value: Any) -> Any:
    """Return a number as ISO 8601 in UTC if its name and size are of a time, else the value as it is."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or value < _SECONDS_MIN or not _TIME_NAME.search(name):
        return value
    return iso_text(int(value) if value >= _MS_MIN else round(1_000 * value))
