"""Rows of cells laid out for a terminal: names stay whole, sentences wrap, and omissions are stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from rich.cells import cell_len

from fll_hbase.cli.render.screen import Block, Line, Screen, fair_shares, wrap
from fll_hbase.cli.render.time_text import Moment
from fll_hbase.runtime.escape import escape_control

_PROSE_TITLES = frozenset({"description", "detail", "path"})
"""Titles of columns whose cells may be broken at spaces."""

_PROSE_WIDTH_MIN = 24
_GAPS = ("   ", "  ")


class Prose(str):
    """A sentence, which may be broken at any space, and whose line breaks count as spaces."""

    __slots__ = ()

    def __new__(cls, text: str) -> Prose:
        """Return the text in one line."""
        return super().__new__(cls, " ".join(text.split()))


class Checksum(str):
    """A checksum, which a terminal shows only with --verbose."""

    __slots__ = ()


CellText: TypeAlias = str | Moment


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    A terminal that is too narrow omits columns with a number in `spare`, the lowest number first. Rows with
    equal `grouped` columns come below one heading there. `short` is a title for narrow terminals.
    """

    title: str
    spare: int = 0
    grouped: bool = False
    short: str = ""


Heading: TypeAlias = Callable[[Sequence[str]], str]
"""A function that returns the heading of rows from their grouped cells."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """Columns with their cells, and flags of constant columns. A row without cells is an empty line."""

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]
    constants: tuple[bool, ...]
    gap: str = _GAPS[0]
    wraps_titles: bool = False
    notes: tuple[str, ...] = ()

    def select(self, numbers: Sequence[int], *notes: str) -> _Grid:
        """Return the grid with only these columns, and further notes."""
        rows = [[row[number] for number in numbers] if row else row for row in self.rows]
        columns = tuple(self.columns[number] for number in numbers)
        constants = tuple(self.constants[number] for number in numbers)
        return replace(self, columns=columns, rows=rows, constants=constants, notes=(*self.notes, *notes))

    def cells(self, number: int) -> Iterator[str]:
        """Yield the cells of a column."""
        return (row[number] for row in self.rows if row)

    def width(self, number: int) -> int:
        """Return the width of a column with its title."""
        return max([self.title_width(self.columns[number]), *map(cell_len, self.cells(number))])

    def title_width(self, column: Column) -> int:
        """Return the width of a title, or of its longest word if titles are wrapped."""
        words = self.title(column).split() if self.wraps_titles else [column.title]
        return max(map(cell_len, words), default=0)

    def title(self, column: Column) -> str:
        """Return the title of a column."""
        return column.short if self.wraps_titles and column.short else column.title


def lay_out(
    columns: Sequence[Column],
    rows: Sequence[Sequence[CellText]],
    screen: Screen,
    heading: Heading | None = None,
    *,
    is_summary: bool = False,
) -> Block:
    """Return a table for a screen: in full if it fits, else with less, and finally with several lines a row.

    A summary has two columns and always stays a table.
    """
    numbers = [number for number in range(len(columns)) if _has_text(rows, number, screen) or not rows]
    # An answer may have a quarter of a million rows. A screen needs only the first, since each takes a line.
    first = rows if screen.lines_max is None or is_summary else _first_rows(rows, screen.lines_max)
    selected = _Grid(
        tuple(columns[number] for number in numbers),
        [[row[number] for number in numbers] if row else () for row in first],
        constants=tuple(_is_constant(rows, number) for number in numbers),
    )
    block = _fitted(selected, screen, None if is_summary else heading, is_summary=is_summary)
    return replace(block, beyond=sum(map(bool, rows[len(first) :])))


def _has_text(rows: Sequence[Sequence[CellText]], number: int, screen: Screen) -> bool:
    """Return whether any cell of a column is shown."""
    return any(
        row and row[number] and (screen.is_verbose or not isinstance(row[number], Checksum)) for row in rows
    )


def _is_constant(rows: Sequence[Sequence[CellText]], number: int) -> bool:
    """Return whether all cells of a column are equal, with at least two rows."""
    cells = (row[number] for row in rows if row)
    first, second = next(cells, None), next(cells, None)
    return second is not None and first == second and all(cell == first for cell in cells)


def _first_rows(rows: Sequence[Sequence[CellText]], count: int) -> Sequence[Sequence[CellText]]:
    """Return the first rows, up to `count` rows with cells."""
    filled = (number for number, row in enumerate(rows) if row)
    return rows[: next(islice(filled, count, None), len(rows))]


def _fitted(grid: _Grid, screen: Screen, heading: Heading | None, *, is_summary: bool = False) -> Block:
    """Return a grid, whose cells are not yet texts, as a block for a screen."""
    grids = [_texts(grid, screen, short=short) for short in (False, True)]
    grouping = heading if any(column.grouped for column in grid.columns) else None
    for smaller in _smaller(*grids, leaves_out=grouping is None):
        widths = _widths(smaller, screen.width)
        if widths is not None:
            return _table(smaller, widths, screen.width)
    if is_summary:
        return _overflowing(grids[0], screen.width)
    if grouping:
        return _grouped(grid, screen, grouping)
    return _stacked(_without_constants(grids[1]), screen.width)


def _texts(grid: _Grid, screen: Screen, *, short: bool) -> _Grid:
    """Return a grid with its cells as texts."""
    rows = [
        [_text(cell, column, screen, short=short) for cell, column in zip(row, grid.columns, strict=False)]
        for row in grid.rows
    ]
    return replace(grid, rows=rows)


def _text(cell: CellText, column: Column, screen: Screen, *, short: bool) -> str:
    """Return a cell as escaped text, a sentence as Prose, a checksum as "" unless the screen is verbose."""
    if isinstance(cell, Moment):
        return cell.on_screen(screen.now_ms, short=short)
    if isinstance(cell, Checksum) and not screen.is_verbose:
        return ""
    if isinstance(cell, Prose) or column.title in _PROSE_TITLES:
        return Prose(escape_control(Prose(cell)))
    return escape_control(cell)


def _smaller(grid: _Grid, short: _Grid, *, leaves_out: bool) -> Iterator[_Grid]:
    """Yield grids, each with less content than the one before; `short` has short times.

    With `leaves_out`, the last grids have no spare columns.
    """
    yield grid
    yield replace(grid, gap=_GAPS[1])
    yield replace(_without_constants(grid), gap=_GAPS[1])
    grid = replace(_without_constants(short), gap=_GAPS[1])
    yield grid
    grid = replace(grid, wraps_titles=True)
    yield grid
    spares = sorted({column.spare for column in grid.columns if column.spare})
    for spare in spares if leaves_out and any(not column.spare for column in grid.columns) else ():
        others = [number for number, column in enumerate(grid.columns) if not 0 < column.spare <= spare]
        titles = [column.title for column in grid.columns if 0 < column.spare <= spare]
        smaller = grid.select(others, f"not shown at this width: {', '.join(titles)}")
        yield replace(smaller, wraps_titles=False)
        yield smaller


def _without_constants(grid: _Grid) -> _Grid:
    """Return the grid with a note instead of columns that have the same text in all rows."""
    numbers = [
        number for number, column in enumerate(grid.columns) if column.title and grid.constants[number]
    ]
    others = [number for number in range(len(grid.columns)) if number not in numbers]
    if not numbers or not others:
        return grid
    texts = [f"{grid.columns[number].title} {next(grid.cells(number))}" for number in numbers]
    return grid.select(others, f"all rows: {', '.join(texts)}")


def _widths(grid: _Grid, width: int) -> list[int] | None:
    """Return widths of columns that fit a terminal, with the rest for sentences, or None if none fit."""
    least = [
        max([grid.title_width(column), *map(_least_width, grid.cells(number))])
        for number, column in enumerate(grid.columns)
    ]
    room = width - len(grid.gap) * (len(grid.columns) - 1) - sum(least)
    if room < 0:
        return None
    needs = [grid.width(number) - narrow for number, narrow in enumerate(least)]
    return [narrow + share for narrow, share in zip(least, fair_shares(needs, room), strict=True)]


def _least_width(cell: str) -> int:
    """Return the least width of a cell: its full width, or for a sentence its longest word or a few words."""
    full = cell_len(cell)
    if not isinstance(cell, Prose):
        return full
    return min(full, max(_PROSE_WIDTH_MIN, *map(cell_len, cell.split(" "))))


def _overflowing(grid: _Grid, width: int) -> Block:
    """Return a table whose last column gets the rest of the width; longer names overflow it."""
    widths = [grid.width(number) for number in range(len(grid.columns) - 1)]
    used = sum(widths) + len(grid.gap) * len(widths)
    return _table(grid, [*widths, max(width - used, _PROSE_WIDTH_MIN)], width)


def _table(grid: _Grid, widths: Sequence[int], width: int) -> Block:
    """Return a grid as aligned lines below its titles."""
    titles = [wrap(grid.title(column), most) for column, most in zip(grid.columns, widths, strict=True)]
    items: list[list[str]] = []
    # Empty lines belong to the row below them.
    above: list[str] = []
    for row in grid.rows:
        if row:
            items.append([*above, *_row_lines(row, widths, grid.gap)])
        above = [] if row else [""]
    # Titles are aligned at the bottom, so shorter ones begin further down.
    height = max(map(len, titles), default=0)
    head = [[""] * (height - len(title)) + title for title in titles]
    rule = "─" * (sum(widths) + len(grid.gap) * (len(widths) - 1))
    return Block(
        head=[*_bold(_side_by_side(head, widths, grid.gap)), (rule, "")],
        items=items,
        tail=_notes(grid, width),
    )


def _row_lines(row: Sequence[str], widths: Sequence[int], gap: str) -> list[str]:
    """Return the lines of a row, in which a sentence may have several."""
    cells = [
        wrap(cell, width) if isinstance(cell, Prose) else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    return _side_by_side(cells, widths, gap)


def _side_by_side(cells: Sequence[Sequence[str]], widths: Sequence[int], gap: str) -> list[str]:
    """Return the lines of cells with several lines each, padded to widths."""
    height = max(map(len, cells), default=0)
    lines = []
    for number in range(height):
        parts = (cell[number] if number < len(cell) else "" for cell in cells)
        padded = (part + " " * (width - cell_len(part)) for part, width in zip(parts, widths, strict=True))
        lines.append(gap.join(padded).rstrip())
    return lines


def _grouped(grid: _Grid, screen: Screen, heading: Heading) -> Block:
    """Return a heading for rows with equal grouped columns, with the other columns below it."""
    inner = [number for number, column in enumerate(grid.columns) if not column.grouped]
    outer = [number for number, column in enumerate(grid.columns) if column.grouped]
    filled = [row for row in grid.rows if row]
    block = _fitted(replace(grid, rows=filled).select(inner), replace(screen, width=screen.width - 2), None)
    items, last = [], None
    for row, lines in zip(filled, block.items, strict=True):
        group = [escape_control(str(row[number])) for number in outer]
        indented = [f"  {line}" for line in lines]
        # A row without grouped cells belongs to the row before.
        if any(group) and group != last:
            last = group
            indented = [heading(group), *indented]
        items.append(indented)
    return replace(block, head=[(f"  {line}", style) for line, style in block.head], items=items)


def _stacked(grid: _Grid, width: int) -> Block:
    """Return several lines for each row: lines of as many columns as fit, then a line for each sentence."""
    sentences = [
        number
        for number in range(len(grid.columns))
        if any(isinstance(cell, Prose) and cell for cell in grid.cells(number))
    ]
    widths = [grid.width(number) for number in range(len(grid.columns))]
    groups: list[list[int]] = [[]]
    for number in range(len(grid.columns)):
        if number in sentences:
            continue
        indent = 2 if len(groups) > 1 else 0
        used = indent + sum(widths[other] + len(_GAPS[1]) for other in groups[-1])
        if groups[-1] and used + widths[number] > width:
            groups.append([])
        groups[-1].append(number)
    titles = [column.title for column in grid.columns]
    head = list(_group_lines(titles, groups, widths))
    rule = "─" * min(width, max(map(cell_len, head), default=0))
    items = [
        [*_group_lines(row, groups, widths), *_sentence_lines(row, titles, sentences, width)] or [""]
        for row in grid.rows
        if row
    ]
    return Block(head=[*_bold(head), (rule, "")], items=items, tail=_notes(grid, width))


def _group_lines(
    cells: Sequence[str], groups: Sequence[Sequence[int]], widths: Sequence[int]
) -> Iterator[str]:
    """Yield a line for each group of columns with any text, indented after the first line."""
    for index, group in enumerate(groups):
        texts = [[cells[number]] for number in group]
        for line in _side_by_side(texts, [widths[number] for number in group], _GAPS[1]):
            if line:
                yield f"  {line}" if index else line


def _sentence_lines(
    row: Sequence[str], titles: Sequence[str], sentences: Sequence[int], width: int
) -> Iterator[str]:
    """Yield lines for each sentence of a row, after the title of its column."""
    for number in sentences:
        if row[number]:
            yield from wrap(f"{titles[number]}: {row[number]}", width - 2, prefix=" ", indent="    ")


def _bold(lines: Sequence[str]) -> list[Line]:
    return [(line, "bold") for line in lines]


def _notes(grid: _Grid, width: int) -> list[Line]:
    return [(line, "dim") for note in grid.notes for line in wrap(note, width)]
