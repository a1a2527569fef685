"""A report as one HTML page to print: without scripts, images or styles from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from fll_hbase.queries.reports.report_document import TAGS, VALUE, Document, Section

HTML = "text/html"
"""Media type of a page to print."""

_STYLE = """
body { font: 9.5pt/1.35 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em;
  color: #1a1a1a; }
h1 { font-size: 16pt; margin: 0; overflow-wrap: anywhere; } article + article { break-before: page; }
h2 { font-size: 11pt; margin: 1em 0 .2em; break-after: avoid; }
p { margin: .3em 0; } .question, .note, .legend { color: #444; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em; margin: .8em 0; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
.verdict { border-left: 4px solid #1a1a1a; padding: .2em .8em; margin: .8em 0; font-size: 11pt; }
.warning { border-left: 4px solid #b00020; padding: .2em .8em; margin: .5em 0; }
table { border-collapse: collapse; width: 100%; font-size: 8pt; }
th, td { border-bottom: 1px solid #ccc; padding: .15em .5em .15em 0; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { border-bottom: 1.5px solid #1a1a1a; overflow-wrap: normal; }
td.number, th.number { text-align: right; padding-right: 1.2em; }
td.number, td.time, td.word { white-space: nowrap; } td.tags { min-width: 8em; }
td:first-child { min-width: 19em; }
td.short { white-space: nowrap; min-width: 0; width: 6em; }
thead { display: table-header-group; } tr { break-inside: avoid; }
.legend dl { font-size: 8pt; } code { font-size: inherit; }
@media print { body { margin: 0; max-width: none; padding: 0; } }
"""
_PAGES = """
@page {{ size: A4 landscape; margin: 1.3cm 1.5cm 1.6cm;
  font: 8pt system-ui, sans-serif; color: #444;
  @bottom-left {{ content: {title}; }}
  @bottom-right {{ content: "page " counter(page) " of " counter(pages); }} }}
"""
_CLASSES = {
    **dict.fromkeys(("Runs", "Failed", "Runs a day", "Failed a day", "Ways gained", "Ways lost"), "number"),
    **dict.fromkeys(("First run", "Last run", "Oldest run", "Newest run", "Days (UTC)"), "time"),
    **dict.fromkeys((VALUE, "Type"), "word"),
    TAGS: "tags",
    **dict.fromkeys(("Change", "Part"), "short"),
}
"""Classes of the cells of columns, by their names."""


def to_html(*documents: Document) -> str:
    """Return documents, at least one, as one page; the footer of each sheet has the question of the first."""
    first = documents[0]
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{escape(first.title)}</title>\n",
            f"<style>{_STYLE}{_PAGES.format(title=_css_text(first.question))}</style>\n</head>\n<body>\n",
            *(text for document in documents for text in _document(document)),
            *_legend({name: text for document in documents for name, text in document.legend.items()}),
            "</body>\n</html>\n",
        ]
    )


def _css_text(text: str) -> str:
    """Return a text as a CSS string that cannot end the style element."""
    plain = (
        character if character.isalnum() or character in " ?.,/_-" else f"\\{ord(character):06x}"
        for character in text
    )
    return f'"{"".join(plain)}"'


def _document(document: Document) -> Iterator[str]:
    """Yield a document in HTML, without its legend."""
    yield "<article>\n"
    yield f"<h1>{escape(document.title)}</h1>\n"
    yield f'<p class="question">{escape(document.question)}</p>\n'
    for sentence in document.verdict:
        yield f'<p class="verdict">{_prose(sentence)}</p>\n'
    for sentence in document.warnings:
        yield f'<p class="warning">{_prose(sentence)}</p>\n'
    yield from _definitions({**document.facts, **document.stamp.facts()})
    for section in document.sections:
        yield from _section(section)
    for section in document.annex:
        yield from _section(section, "Annex: ")
    yield "</article>\n"


def _prose(text: str) -> str:
    """Return a sentence in HTML, with text between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _legend(words: Mapping[str, str]) -> Iterator[str]:
    """Yield the explanations of the words of a report, in HTML."""
    yield '<section class="legend">\n<h2>Words</h2>\n'
    yield from _definitions(words)
    yield "</section>\n"


def _definitions(items: Mapping[str, str]) -> Iterator[str]:
    """Yield names with their texts in HTML."""
    yield "<dl>\n"
    for name, text in items.items():
        yield f"<dt>{escape(name)}</dt><dd>{_prose(text)}</dd>\n"
    yield "</dl>\n"


def _section(section: Section, prefix: str = "") -> Iterator[str]:
    """Yield a table below its title in HTML, or only the title if there are no rows."""
    yield f"<h2>{escape(prefix + section.title)}</h2>\n"
    if section.rows and section.note:
        yield f'<p class="note">{_prose(section.note)}</p>\n'
    if section.rows:
        yield from _table(section.columns, section.rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table in HTML, with escaped column names and cells."""
    kinds = [f' class="{_CLASSES[name]}"' if name in _CLASSES else "" for name in columns]
    yield f"<table>\n<thead><tr>{_cells('th', columns, kinds)}</tr></thead>\n<tbody>\n"
    for row in rows:
        yield f"<tr>{_cells('td', row, kinds)}</tr>\n"
    yield "</tbody>\n</table>\n"


def _cells(tag: str, texts: Iterable[str], kinds: Iterable[str]) -> str:
    """Return texts, escaped, as HTML elements of that tag."""
    return "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for text, kind in zip(texts, kinds, strict=True))
