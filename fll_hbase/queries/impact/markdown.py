"""Impact as Markdown: a comment for a pull request, within the size that GitHub and GitLab accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fll_hbase.queries.impact.change_impact import Change, ComparedProgram, Derivation, ImpactAnswer
from fll_hbase.queries.impact.wording import FIELD_TITLES, STATUS_TEXTS, count_kinds, downstream_text
from fll_hbase.queries.names import ProgramName
from fll_hbase.queries.reports.report_document import count_text
from fll_hbase.queries.time_window import iso_text

CHARACTERS_MAX = 60_000
"""Size limit of the text. GitHub refuses comments of more than 65,536 characters, GitLab of 1,000,000."""

LISTED_MAX = 50
"""Maximum number of fields, and of programs, that one change lists."""

_TAIL_MAX, _NAME_MAX = 20_000, 300
"""Size limits of what follows the changes, and of one name or expression."""

MARKER = "<!-- fll impact -->"
"""First line of the comment, by which a workflow finds its earlier comment."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&])")


def to_markdown(body: ImpactAnswer, *, window: str = "") -> str:
    """Return the comment: a summary, a section for each kind, programs by how they were compared, warnings.

    `window` describes the window in words. Changes that do not fit into CHARACTERS_MAX are shortened to one
    line, and from the first that still does not fit, only counted.
    """
    head = [MARKER, f"## Impact on recorded lineage{f', {_plain(window)}' if window else ''}", ""]
    head += [_plain(count_kinds(body.counts)), ""]
    if body.truncated:
        limits = ", ".join(f"`{limit}`" for limit in body.truncated_by)
        head += [f"**Not complete:** bounded by {limits}.", ""]
    text = "\n".join(head)
    tail = "".join(
        _fitting(((part, "") for part in [*_programs(body.programs), *_warnings(body)]), _TAIL_MAX)
    )
    left = CHARACTERS_MAX - len(text) - len(tail)
    return f"{text}{''.join(_fitting(_changes(body.changes), left))}{tail}".rstrip() + "\n"


def _fitting(parts: Iterable[tuple[str, str]], characters_max: int) -> Iterator[str]:
    """Yield the long form of each part, or the short one if that alone fits into the characters left.

    From the first part that does not fit, all are left out, and a last text counts them, for which 100
    characters of `characters_max` are reserved.
    """
    left, omitted = characters_max - 100, 0
    for long, short in parts:
        part = long if len(long) <= left else short
        if part and len(part) <= left and not omitted:
            left -= len(part)
            yield part
        else:
            omitted += 1
    if omitted:
        yield f"\n**{count_text(omitted, 'more part')}** left out: the comment would be too long.\n"


def _changes(changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
    """Yield each change in two forms: as a collapsible section, and as one line.

    Both forms of the first change of a kind begin with the title of the kind.
    """
    for kind, listed in groupby(changes, key=lambda change: change.kind):
        title = f"\n### {FIELD_TITLES[kind]}\n\n"
        for change in listed:
            to = f" → {_code(change.to)}" if change.to else ""
            types = (
                f" ({_code(change.old.type)} → {_code(change.new.type)})"
                if change.old and change.new and kind == "retyped"
                else ""
            )
            summary = f"{_code(str(change.field))}{to}{types}: {downstream_text(change.downstream)}"
            line = f"{title}- {summary}\n"
            lines = [*_ways(change), *_downstream(change)]
            yield (title + _section(summary, lines) if lines else line), line
            title = ""


def _section(summary: str, lines: Iterable[str]) -> str:
    """Return lines that are collapsed below a summary."""
    return "\n".join(("<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>", ""))


def _ways(change: Change) -> Iterator[str]:
    """Yield the program of a change, and how the field or the rows are made now and with the change."""
    if change.program is not None:
        yield f"- made by {_program(change.program)}"
    for word, derivation in (("now", change.old), ("with the change", change.new)):
        if derivation is not None and (derivation.text or derivation.inputs):
            yield f"- {word}: {_derivation(derivation)}"


def _derivation(derivation: Derivation) -> str:
    inputs = ", ".join(_code(str(item)) for item in derivation.inputs[:LISTED_MAX])
    text = _code(derivation.text) if derivation.text else "copied"
    return f"{text} from {inputs}" if inputs else text


def _downstream(change: Change) -> Iterator[str]:
    """Yield up to LISTED_MAX fields, programs and unknown relations downstream of a change.

    The other fields and programs are counted. Yields nothing if `downstream` is None.
    """
    if change.downstream is None:
        return
    fields = change.downstream.fields
    for item in fields[:LISTED_MAX]:
        influence = "" if item.influence == "direct" else ", indirect"
        yield f"- {_code(str(item))} ({count_text(item.hops, 'hop')}{influence})"
    if change.downstream.field_count > LISTED_MAX:
        yield f"- and {change.downstream.field_count - LISTED_MAX:,} more fields"
    programs = change.downstream.programs
    for program in programs[:LISTED_MAX]:
        notes = ["fields unknown"] * program.unknown + ["part of this change"] * program.in_change
        note = f" ({', '.join(notes)})" if notes else ""
        yield f"- {_program(program)} last ran {iso_text(program.last_start)}{note}"
    if len(programs) > LISTED_MAX:
        yield f"- and {len(programs) - LISTED_MAX:,} more programs"
    for relation in change.downstream.unknown[:LISTED_MAX]:
        yield f"- {_code(str(relation.source))} leads to {_code(str(relation.destination))}: fields unknown"


def _programs(programs: Sequence[ComparedProgram]) -> Iterator[str]:
    """Yield a list of programs for each status, also `compared`, and of those without compared literals.

    Each list has at most LISTED_MAX, and counts the others. Empty lists are left out.
    """
    for status, text in STATUS_TEXTS.items():
        listed = [item for item in programs if item.status == status]
        if not listed:
            continue
        names = [f"{_program(item)}{_last_run(item)}" for item in listed[:LISTED_MAX]]
        yield _list(f"{count_text(len(listed), 'program')} {text}", names, len(listed))
    without = [item for item in programs if item.without_literals]
    if without:
        title = (
            f"{count_text(len(without), 'program')} without literals: the SQL of the last run is not known"
        )
        yield _list(title, [_program(item) for item in without[:LISTED_MAX]], len(without))


def _warnings(body: ImpactAnswer) -> Iterator[str]:
    if body.warnings:
        texts = [f"{_code(item.path)}: {_code(item.detail)}" for item in body.warnings[:LISTED_MAX]]
        yield _list(count_text(len(body.warnings), "warning"), texts, len(body.warnings))


def _list(title: str, items: Sequence[str], count: int) -> str:
    """Return a collapsed list of items, the first of `count`."""
    more = [f"- and {count - len(items):,} more"] if count > len(items) else []
    return "\n" + _section(_html(title), [*(f"- {item}" for item in items), *more])


def _last_run(item: ComparedProgram) -> str:
    if item.last_run is None or item.last_start is None:
        return ""
    return f", compared with run {_code(item.last_run)} of {iso_text(item.last_start)}"


def _program(name: ProgramName) -> str:
    return _code(f"{name.namespace}/{name.application}/{name.program}")


def _code(text: str) -> str:
    """Return a text, cut to _NAME_MAX characters, as code on one line, whatever it contains."""
    return f"<code>{_html(text)}</code>"


def _html(text: str) -> str:
    """Return a text for HTML within Markdown: cut to _NAME_MAX, on one line, without markup and mentions."""
    text = text if len(text) <= _NAME_MAX else f"{text[: _NAME_MAX - 1]}…"
    one_line = "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
    escaped = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    # Markdown also applies within tags on a line.
    return re.sub(r"([\\`*_\[\]|~@#:])", lambda match: f"&#{ord(match[1])};", escaped)


def _plain(text: str) -> str:
    """Return a text without the meaning of Markdown's characters."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
