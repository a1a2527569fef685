"""A report as one HTML page to print: without scripts, images or styles from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from fll_hbase.queries import name_json
from fll_hbase.queries.reports.report_csv import OPERATIONS, Part, parts
from fll_hbase.queries.time_window import iso_text
from fll_hbase.runtime.json_types import Json

HTML = "text/html"
"""Media type of a page to print."""

_TITLES = {"consumption": "Consumption of {field}", "provenance": "Provenance of {field}"}
_STYLE = """
body { font: 10pt/1.4 system-ui, sans-serif; margin: 2em; color: #1a1a1a; }
h1 { font-size: 16pt; margin: 0 0 .5em; overflow-wrap: anywhere; }
h2 { font-size: 12pt; margin: 1.5em 0 .4em; break-after: avoid; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2em 1em; margin: 0; }
dt { font-weight: 600; } dd { margin: 0; }
.truncated { border: 2px solid #b00020; padding: .5em 1em; margin: 1em 0; }
table { border-collapse: collapse; width: 100%; font-size: 8.5pt; }
th, td { border: 1px solid #bbb; padding: .2em .5em; text-align: left; vertical-align: top;
  overflow-wrap: break-word; }
th { background: #eee; } thead { display: table-header-group; } tr { break-inside: avoid; }
@media print { body { margin: 0; } @page { size: A4 landscape; margin: 1.5cm; } }
"""


def to_html(body: Json, *, causal: bool, start_ms: int, stop_ms: int, now_ms: int) -> str:
    """Return the report as a page, its window and limits at the top; `causal` is for `parts`."""
    title = _TITLES[body["report"]].format(field=name_json.text(body["field"]))
    texts = [
        *facts(body, start_ms=start_ms, stop_ms=stop_ms, now_ms=now_ms),
        *statements(body),
        *(text for part in parts(body, causal=causal) for text in section(part, body)),
        *_derivations(body.get("derivations", ())),
    ]
    return document(title, texts)


def document(title: str, texts: Iterable[str]) -> str:
    """Return a page with a title, which is escaped here, above texts that are HTML already."""
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n",
            f"<h1>{escape(title)}</h1>\n",
            *texts,
            "</body>\n</html>\n",
        ]
    )


def facts(
    body: Json, *, start_ms: int, stop_ms: int, now_ms: int, others: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the window of a report, its retention horizon and `others`, as a list of names and texts."""
    items = {
        **(others or {}),
        "Runs that started from": iso_text(start_ms),
        "until, not included": iso_text(stop_ms),
        "Report of": iso_text(now_ms),
        "Deleted runs": "none known in this window",
    }
    if "retainedFrom" in body:
        items["Deleted runs"] = f"possibly those before {iso_text(body['retainedFrom'])}"
    yield "<dl>\n"
    for name, value in items.items():
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n"
    yield "</dl>\n"


def statements(body: Json) -> Iterator[str]:
    """Yield, in HTML, what a reader must know before the tables: what was cut, and what is not known."""
    if body["truncated"]:
        limits = ", ".join(body["truncatedBy"])
        yield f'<p class="truncated">This report is not complete. Limits that cut it: {escape(limits)}.</p>\n'
    if body.get("moreRuns"):
        yield "<p>It lists the newest runs only; the next pages of the report have the others.</p>\n"
    if body.get("dropped"):
        yield "<p>Some run read the field and did not use it.</p>\n"
    for relation in body.get("unknown", ()):
        ends = (name_json.text(relation[end]) for end in ("source", "destination"))
        text = "{} leads to {}, but it is not known how their fields relate.".format(*ends)
        yield f"<p>{escape(text)}</p>\n"


def section(part: Part, body: Json) -> Iterator[str]:
    """Yield, in HTML, a part of a report as a table below its title; without rows the title alone."""
    rows = list(part.rows(body))
    yield f"<h2>{escape(part.title)}: {len(rows):,}</h2>\n"
    if rows:
        yield from _table(part.columns, rows)


def _derivations(derivations: Sequence[Json]) -> Iterator[str]:
    """Yield, in HTML, a table of operations for each derivation, below its number and its runs."""
    for number, derivation in enumerate(derivations, 1):
        runs = derivation["runCount"]
        yield f"<h2>Derivation {number} of {len(derivations)}, of {runs:,} runs: operations in order</h2>\n"
        yield from _table(OPERATIONS.columns, OPERATIONS.rows(derivation))


def _table(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table in HTML; names of columns and cells are escaped here."""
    yield f"<table>\n<thead><tr>{_cells('th', columns)}</tr></thead>\n<tbody>\n"
    for row in rows:
        yield f"<tr>{_cells('td', row)}</tr>\n"
    yield "</tbody>\n</table>\n"


def _cells(tag: str, texts: Iterable[str]) -> str:
    """Return texts, escaped, as HTML elements of that tag."""
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
