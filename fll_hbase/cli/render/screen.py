"""Screens: pages drawn for the width of a terminal, with one screen of lines and a count of the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Protocol, TypeAlias, runtime_checkable

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

Line: TypeAlias = tuple[str, str]
"""A line and its style."""

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^ ]*(?: UTC)?"
_WORD = re.compile(rf"((?:{_TIME}(?: to {_TIME})?|`[^`]*`|[^ ])*)(?: |$)")
"""A word, a time, a window or a command in backticks, up to the next space or the end."""

_TITLE = "bold"
"""Style of titles."""

_ROWS_SHOWN_MIN = 3
"""Minimum number of shown rows of each part. A screen without room for them is filled from the top."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal of `width` columns; `lines_max` is None for all lines.

    With `is_verbose`, checksums are shown. Times on the day of `now_ms` are shown without their date.
    """

    width: int
    lines_max: int | None
    now_ms: int
    is_verbose: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a page that fits a width: lines that are always shown, and items of lines between them.

    `unit` is the word for items in counts. `beyond` is the number of further items, which no screen can show.
    """

    head: Sequence[Line] = ()
    items: Sequence[Sequence[str]] = ()
    tail: Sequence[Line] = ()
    unit: str = "rows"
    beyond: int = 0

    @property
    def item_lines(self) -> int:
        """Return the number of lines of all items, with one line for each item `beyond` a screen."""
        return sum(map(len, self.items)) + self.beyond

    @property
    def count(self) -> int:
        """Return the number of items."""
        return len(self.items) + self.beyond


@runtime_checkable
class Fitting(Protocol):
    """A part of a page that adapts to each width."""

    def fit(self, screen: Screen) -> Block:
        """Return the part for a screen."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A line that a terminal shows only with --verbose, and a pipe always."""

    text: Text

    def __rich__(self) -> Text:
        """Return the line."""
        return self.text

    def fit(self, screen: Screen) -> Block:
        """Return the line, or nothing."""
        return _text_block(self.text, screen.width) if screen.is_verbose else Block()


@dataclass(frozen=True, slots=True)
class Title:
    """A title that only a terminal shows, since tables in a pipe begin with their columns."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield nothing."""
        return iter(())

    def fit(self, screen: Screen) -> Block:
        """Return the title in bold."""
        return _text_block(Text(self.text, style=_TITLE), screen.width)


def draw(page: RenderableType, screen: Screen) -> Iterator[Text]:
    """Yield the lines of a page, at most one screen of them, ending with a count if there are more."""
    blocks = list(_blocks(page, screen))
    lines_total = sum(len(block.head) + block.item_lines + len(block.tail) for block in blocks)
    if screen.lines_max is None or lines_total <= screen.lines_max:
        lines = [line for block in blocks for line in _cut(block, block.item_lines)]
    else:
        lines = _screenful(blocks, screen.lines_max)
    yield from (Text(text, style=style) for text, style in lines)


def wrap(text: str, width: int, *, prefix: str = "", indent: str = "") -> list[str]:
    """Return lines of at most `width` cells, broken at spaces. Times, `commands` and longer words stay whole.

    The `prefix` is never broken. Lines after the first begin with the `indent`.
    """
    lines: list[str] = []
    line, is_empty = prefix, not prefix
    # The last match is an empty word at the end of the text.
    for word in _WORD.findall(text)[:-1] or [""]:
        if not is_empty and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line.rstrip())
            line = indent + word
        else:
            line += word if is_empty else f" {word}"
        is_empty = False
    return [*lines, line.rstrip()]


def _blocks(page: RenderableType | Fitting, screen: Screen) -> Iterator[Block]:
    """Yield the parts of a page for a screen."""
    if isinstance(page, Group):
        for part in page.renderables:
            yield from _blocks(part, screen)
    elif isinstance(page, Text):
        # Before the protocol, because a Text has a different method `fit`.
        yield _text_block(page, screen.width)
    elif isinstance(page, Fitting):
        yield page.fit(screen)
    else:
        raise TypeError(f"a {type(page).__name__} has no form for a width")


def _text_block(text: Text, width: int) -> Block:
    style = str(text.style)
    return Block(head=[(line, style) for row in text.plain.split("\n") for line in wrap(row, width)])


@dataclass(slots=True)
class _Cut:
    """Counts of the items of blocks: in total, and shown in full."""

    total: int = 0
    shown: int = 0
    units: set[str] = field(default_factory=set)

    def line(self) -> Line:
        unit = self.units.pop() if len(self.units) == 1 else "lines"
        text = f"… {self.total - self.shown:,} more of {self.total:,} {unit}: --all shows all"
        return text, "dim"


def _screenful(blocks: Sequence[Block], lines_max: int) -> list[Line]:
    """Return at most `lines_max` lines of blocks that have more: a fair share of each, or the first lines."""
    listed = [block for block in blocks if block.items]
    # A line with the rest of each block except the last, and a line with the rest of all.
    counts = len([block for block in blocks[:-1] if block.items]) + 1
    room = lines_max - sum(len(block.head) + len(block.tail) for block in blocks) - counts
    if room < _ROWS_SHOWN_MIN * len(listed):
        return _first_lines(blocks, lines_max)
    shares = fair_shares([block.item_lines for block in listed], room)
    cut = _Cut()
    lines: list[Line] = []
    for block in blocks:
        share = shares.pop(0) if block.items else 0
        shown = _items_within(block, share)
        is_cut = shown < block.count
        lines += _cut(block, share, more=0 if block is blocks[-1] else block.count - shown)
        if is_cut:
            cut.total, cut.shown = cut.total + block.count, cut.shown + shown
            cut.units.add(block.unit)
    return [*lines, cut.line()]


def _first_lines(blocks: Sequence[Block], lines_max: int) -> list[Line]:
    """Return the first lines of blocks, at most `lines_max`, with the count as the last line."""
    room = max(lines_max - 1, 1)
    cut = _Cut()
    lines: list[Line] = []
    # Titles and columns without a row below them are removed at the end.
    filled = 0
    is_full = False
    for block in blocks:
        left = room - len(lines)
        share = 0 if is_full else min(max(left - len(block.head), 0), block.item_lines)
        shown = _items_within(block, share)
        if not is_full:
            lines += _cut(block, share)[:left]
            if shown or (not block.items and any(text and style != _TITLE for text, style in block.head)):
                filled = len(lines)
        is_full = is_full or shown < block.count or len(lines) == room
        cut.total += block.count
        cut.shown += shown
        cut.units |= {block.unit} if block.items else set()
    return [*lines[: filled or None], cut.line()]


def _cut(block: Block, item_lines_max: int, more: int = 0) -> list[Line]:
    """Return the lines of a block: as many whole items as fit, or part of the first one, and a count."""
    shown = block.items[: _items_within(block, item_lines_max)] or block.items[:1]
    items = [(line, "") for item in shown for line in item][:item_lines_max]
    return [*block.head, *items, *([(f"… {more:,} more", "dim")] if more else ()), *block.tail]


def _items_within(block: Block, lines: int) -> int:
    """Return how many whole items of a block fit into `lines`."""
    ends = accumulate(map(len, block.items))
    return sum(1 for _ in takewhile(lambda end: end <= lines, ends))


def fair_shares(needs: Sequence[int], room: int) -> list[int]:
    """Return equal shares of the room, in the order of the needs; small needs leave the rest to others."""
    shares = [0] * len(needs)
    for index, number in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        shares[number] = min(needs[number], room // (len(needs) - index))
        room -= shares[number]
    return shares
