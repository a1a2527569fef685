"""Graphs as SVG: boxes with rows of fields, links between them, a legend, and warnings."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fll_hbase.client.notebook.box_layout import Item, Layout, Wire, lay_out
from fll_hbase.client.notebook.drawn_graph import SHAPE, UNKNOWN, VALUE, Box, DrawnGraph, End, Link
from fll_hbase.client.notebook.shown_text import fit, markup, width_of
from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.runtime.errors import FieldError, InvalidQuery

_MARGIN, _HEAD, _ROW, _COLUMN_GAP, _PADDING = 16, 38, 17, 76, 12
_BEND = _COLUMN_GAP / 2
_BOX_MIN, _BOX_MAX, _PICTURE_MIN = 130, 300, 520
_TITLE, _NAME, _FIELD, _SMALL = 8.4, 8.1, 7.2, 6.4
"""Mean widths of a character in pixels, by the kind of text."""

_DASHES = {VALUE: "", SHAPE: "4 3", UNKNOWN: "1 4"}
_LATE_DASHES = {VALUE: "9 3 1.5 3", SHAPE: "4 3 1.5 3", UNKNOWN: "1 4"}
_WORDS = {VALUE: "value", SHAPE: "only shapes", UNKNOWN: "fields unknown"}
_LIGHT = {
    "page": "#f7f8fa", "frame": "#ffffff", "edge": "#c9ced8", "text": "#1a1d24", "dim": "#59606e",
    "line": "#3f51d4", "bad": "#b42323", "note": "#7a5200", "start": "#4757d8", "row": "#eef0f4",
}  # fmt: skip
_DARK = {
    "page": "#171a21", "frame": "#111318", "edge": "#414857", "text": "#e6e9ef", "dim": "#a0a8b7",
    "line": "#9aa7ff", "bad": "#ff9a94", "note": "#ebc16a", "start": "#5566e0", "row": "#20242d",
}  # fmt: skip
_STROKED = ("edge", "line", "bad")


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A graph as SVG, which a notebook shows. `svg` is the text of the drawing.

    >>> picture = client.lineage("bank", "RiskScores", direction="backward").plot()
    >>> picture.svg.startswith("<svg ")
    True
    """

    svg: str
    title: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def save(self, path: str | Path) -> None:
        """Write the SVG to a file. Raises InvalidQuery unless its name ends in `.svg`, and OSError.

        >>> client.lineage("bank", "RiskScores").plot().save("scores.svg")
        """
        if Path(path).suffix.lower() != ".svg":
            raise InvalidQuery([FieldError("path", f"{str(path)!r} does not end in .svg: pictures are SVG")])
        Path(path).write_text(self.svg, encoding="utf-8", newline="\n")


def to_picture(graph: DrawnGraph, title: str, facts: Sequence[str], warnings: Sequence[str]) -> Picture:
    """Return the picture of a graph, cut to FIELDS_MAX and LINKS_MAX, below its title, facts and warnings."""
    drawing = _Drawing(graph.cut())
    return Picture(drawing.to_svg(title, facts, [*warnings, *drawing.graph.notes]), title)


class _Drawing:
    """The layout of a graph, and its drawing."""

    def __init__(self, graph: DrawnGraph) -> None:
        self.graph = graph
        self.rows: dict[Box, list[End]] = defaultdict(list)
        for end in graph.ends:
            self.rows[end.box] += [end] if end.field else []
        for ends in self.rows.values():
            ends.sort(key=lambda end: (end.field != WHOLE_DATASET, end.field))
        self.numbers = {box: number for number, box in enumerate(self.rows)}
        self.middles = {
            end: _HEAD + (number + 0.5) * _ROW
            for ends in self.rows.values()
            for number, end in enumerate(ends)
        }
        wires = [
            Wire(self.numbers[a.box], self.numbers[b.box], self._middle(a), self._middle(b))
            for a, b in graph.links
        ]
        heights = [_HEAD + len(rows) * _ROW + (4 if rows else 0) for rows in self.rows.values()]
        self.layout: Layout = lay_out(heights, wires)
        self.widths = self._widths()
        # Links that lead back turn at both sides, and need a wider margin.
        columns = [item.column for item in self.layout.boxes]
        turns = any(columns[wire.target] <= columns[wire.source] for wire in wires)
        self.margin = _MARGIN + (24 if turns else 0)
        self.lefts = [0.0]
        for width in self.widths:
            self.lefts.append(self.lefts[-1] + width + _COLUMN_GAP)

    def _middle(self, end: End) -> float:
        return self.middles.get(end, _HEAD / 2)

    def _widths(self) -> list[float]:
        """Return the width of each column, which fits its longest text, from _BOX_MIN to _BOX_MAX."""
        widths = [float(_BOX_MIN)] * (1 + max((item.column for item in self.layout.boxes), default=-1))
        for (box, rows), item in zip(self.rows.items(), self.layout.boxes, strict=True):
            texts = [width_of(box.title) * _NAME, width_of(box.subtitle) * _SMALL]
            texts += [
                width_of(_label(end)) * _FIELD + width_of(self._note(end)) * _SMALL + _PADDING for end in rows
            ]
            widest = min(_BOX_MAX, max(texts) + 2 * _PADDING + 1)
            widths[item.column] = max(widths[item.column], widest)
        return widths

    def _note(self, end: End) -> str:
        return ", ".join(self.graph.ends[end])

    def to_svg(self, title: str, facts: Sequence[str], warnings: Sequence[str]) -> str:
        """Return the SVG: title, counts with facts, and warnings above the graph, and a legend below it."""
        items = [*self.layout.boxes, *(lane for lanes in self.layout.lanes for lane in lanes)]
        width = max(_PICTURE_MIN, self.lefts[-1] - _COLUMN_GAP + 2 * self.margin)
        bottom = max((item.y + item.height for item in items), default=0.0)
        head, top = _heading(title, " · ".join([self._counts(), *facts]), warnings, width)
        legend_y = top + bottom + 2 * _MARGIN
        height = legend_y + _MARGIN
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="fll-picture" width="{width:.0f}"'
            f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-size="12.5"'
            ' font-family="system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, DejaVu Sans, sans-serif">',
            f"<title>{markup(title)}</title>",
            f"<style>{_style()}</style>",
            f'<rect class="fll-page" width="100%" height="100%" {_paint("page")}/>',
            *head,
            f'<g transform="translate({self.margin} {top:.0f})">',
            *self._links(),
            *self._boxes(),
            "</g>",
            *_legend(dict.fromkeys(self.graph.links.values()), legend_y),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _counts(self) -> str:
        """Return the numbers of boxes, fields and links as text, which also says if nothing is linked."""
        fields = sum(map(len, self.rows.values()))
        counts = ((len(self.rows), self.graph.boxes), (fields, "field"), (len(self.graph.links), "link"))
        text = ", ".join(f"{number:,} {noun}{_plural(noun, number)}" for number, noun in counts)
        return text if self.graph.links else f"{text}: nothing is linked in this window"

    def _links(self) -> Iterator[str]:
        """Yield the links in a group for each kind: values first, then unknown fields, then shapes on top."""
        groups: dict[Link, list[str]] = defaultdict(list)
        for ((source, target), link), lanes in zip(self.graph.links.items(), self.layout.lanes, strict=True):
            words = f"{_text(source)} → {_text(target)} ({_describe(link)})"
            groups[link].append(
                f'<path d="{self._path(source, target, lanes)}"><title>{markup(words)}</title></path>'
            )
        for link in sorted(groups, reverse=True):
            yield f"<g {_stroke(link)}>"
            yield from groups[link]
            yield "</g>"

    def _path(self, source: End, target: End, lanes: Sequence[Item]) -> str:
        """Return the path of a link, with curves between columns and lines along lanes."""
        near, far = (self.layout.boxes[self.numbers[end.box]] for end in (source, target))
        x, y = self.lefts[near.column] + self.widths[near.column], near.y + self._middle(source)
        to_x, to_y = self.lefts[far.column], far.y + self._middle(target)
        if near is far:
            return _loop(x, y, to_y)
        path = [f"M{x:.1f} {y:.1f}"]
        # A link that leads back turns below its box, passes all boxes, and turns again.
        is_back, leave, arrive = far.column <= near.column, _BEND, -_BEND
        for item in lanes:
            edges = [self.lefts[item.column], self.lefts[item.column] + self.widths[item.column]]
            start, stop = reversed(edges) if is_back else edges
            path.append(_curve(x, y, start, item.y, leave, _BEND if is_back else arrive))
            path.append(f"H{stop:.1f}")
            x, y, leave = stop, item.y, -_BEND if is_back else _BEND
        return "".join([*path, _curve(x, y, to_x, to_y, leave, arrive)])

    def _boxes(self) -> Iterator[str]:
        """Yield each box with its title, its subtitle if any, and its rows."""
        for (box, rows), item in zip(self.rows.items(), self.layout.boxes, strict=True):
            x, width = self.lefts[item.column], self.widths[item.column]
            room = width - 2 * _PADDING
            is_start = End(box) in self.graph.starts
            edge = "fll-line" if is_start else "fll-edge"
            stroke = _LIGHT["line" if is_start else "edge"]
            yield f'<g transform="translate({x:.1f} {item.y:.1f})">'
            yield f"<title>{markup(_text(End(box)))}</title>"
            yield (
                f'<rect class="fll-frame {edge}" width="{width:.0f}" height="{item.height:.0f}" rx="5"'
                f' fill="{_LIGHT["frame"]}" stroke="{stroke}"/>'
            )
            middle = 16 if box.subtitle else 23
            yield _line(_PADDING, middle, fit(box.title, room / _NAME), "text", 'font-weight="600"')
            if box.subtitle:
                yield _line(_PADDING, 30, fit(box.subtitle, room / _SMALL), "dim", 'font-size="11"')
            for number, end in enumerate(rows):
                yield from self._row(end, _HEAD + number * _ROW, width)
            yield "</g>"

    def _row(self, end: End, y: float, width: float) -> Iterator[str]:
        """Yield the row of a field, with its name at the left and its notes at the right."""
        is_start, note = end in self.graph.starts, self._note(end)
        room = (width - 2 * _PADDING - width_of(note) * _SMALL - (_PADDING if note else 0)) / _FIELD
        look = 'font-style="italic"' if end.field == WHOLE_DATASET else ""
        yield f"<g><title>{markup(_text(end))}</title>"
        tone = "start" if is_start else "row"
        yield (
            f'<rect class="fll-{tone}" x="3" y="{y + 0.5}" width="{width - 6:.0f}" height="16" rx="2"'
            f" {_paint(tone)}/>"
        )
        text = fit(_label(end), room)
        yield (
            f'<text x="{_PADDING}" y="{y + 12.5}" fill="#ffffff" font-weight="600">{markup(text)}</text>'
            if is_start
            else _line(_PADDING, y + 12.5, text, "text", look)
        )
        if note:
            look = 'font-size="11" font-style="italic" text-anchor="end"'
            yield _line(width - _PADDING, y + 12.5, note, "dim", look)
        yield "</g>"


def _heading(title: str, facts: str, warnings: Iterable[str], width: float) -> tuple[list[str], float]:
    """Return the lines above a graph, folded to the width of the picture, and the top of the graph."""
    lines, y = [], float(_MARGIN)
    room = width - 2 * _MARGIN
    for text, size, kind, look in (
        (title, _TITLE, "text", 'font-size="14" font-weight="600"'),
        (facts, _SMALL, "dim", 'font-size="11.5"'),
        *((text, _SMALL, "note", 'font-size="11.5"') for text in warnings),
    ):
        for line in textwrap.wrap(fit(text, 4 * room / size), int(room / size)):
            y += 17
            lines.append(_line(_MARGIN, y - 4, line, kind, look))
    return lines, y + _MARGIN


def _legend(links: Iterable[Link], y: float) -> Iterator[str]:
    """Yield the kinds of lines in a picture with their explanations."""
    x = float(_MARGIN)
    for link in sorted(links, key=lambda link: ([*_DASHES].index(link.kind), link)):
        words = _describe(link)
        yield f'<path d="M{x:.0f} {y - 4:.0f}h28" {_stroke(link)}/>'
        yield _line(x + 36, y, words, "dim", 'font-size="11"')
        x += 60 + width_of(words) * _SMALL


def _curve(x: float, y: float, to_x: float, to_y: float, leave: float, arrive: float) -> str:
    """Return a curve between two points; `leave` and `arrive` are the distances by which it bends."""
    return f"C{x + leave:.1f} {y:.1f} {to_x + arrive:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _loop(x: float, y: float, to_y: float) -> str:
    """Return a loop at the right of a box, with an arrow that shows its direction."""
    if y == to_y:
        y, to_y = y - 4, to_y + 4
    return f"M{x:.1f} {y:.1f}{_curve(x, y, x, to_y, _BEND, _BEND)}m5 -4l-5 4l5 3"


def _describe(link: Link) -> str:
    """Return the explanation of a kind of line."""
    marks = {"failed runs only": link.failed, "not in order of the runs": link.late}
    return ", ".join([_WORDS[link.kind], *(mark for mark, is_so in marks.items() if is_so)])


def _stroke(link: Link) -> str:
    """Return the SVG attributes of a kind of lines."""
    tone = "bad" if link.failed else "line"
    dashes = (_LATE_DASHES if link.late else _DASHES)[link.kind]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    round_ends = ' stroke-linecap="round"' if link.kind == UNKNOWN else ""
    width = 1.25 if link.kind == SHAPE else 1.75
    return (
        f'class="fll-{tone}" fill="none" stroke="{_LIGHT[tone]}" stroke-width="{width}"{dashed}{round_ends}'
    )


def _style() -> str:
    """Return styles with the colours of dark screens; programs that ignore styles use the attributes."""
    rules = (
        f".fll-picture .fll-{name}{{{'stroke' if name in _STROKED else 'fill'}:{color}}}"
        for name, color in _DARK.items()
    )
    return f"@media (prefers-color-scheme: dark) {{{''.join(rules)}}}"


def _paint(tone: str) -> str:
    return f'fill="{_LIGHT[tone]}"'


def _line(x: float, y: float, text: str, tone: str, look: str) -> str:
    """Return a line of text as an SVG element."""
    return f'<text class="fll-{tone}" x="{x:.0f}" y="{y:g}" {_paint(tone)} {look}>{markup(text)}</text>'


def _label(end: End) -> str:
    return "every row" if end.field == WHOLE_DATASET else end.field


def _text(end: End) -> str:
    """Return the full name of an end: `namespace/name.field`, or `field of operation (description)`."""
    title, subtitle, is_operation = end.box
    if is_operation:
        box = f"{title} ({subtitle})" if subtitle else title
        return f"{end.field} of {box}" if end.field else box
    box = f"{subtitle}/{title}" if subtitle else title
    return f"{box}.{end.field}" if end.field else box


def _plural(noun: str, number: int) -> str:
    return "" if number == 1 else "es" if noun == "box" else "s"
