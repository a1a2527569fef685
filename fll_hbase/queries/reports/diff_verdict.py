"""The diff of a field or dataset in a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fll_hbase.queries import name_json
from fll_hbase.queries.reports.report_document import count_text, names_text
from fll_hbase.runtime.json_types import Json

CHARACTERS_MAX = 200
"""Maximum number of characters about an operation in a sentence about a change."""

_CHANGES = ("gained", "lost")
_ACCESS = {"READ": "reads", "WRITE": "writes"}


class Kind(NamedTuple):
    """A kind of parts of a diff: its member in an answer, its title, and the noun of one part."""

    member: str
    title: str
    noun: str


KINDS = (
    Kind("derivations", "Ways", "way"),
    Kind("sources", "Sources", "source"),
    Kind("operations", "Operations", "operation"),
    Kind("edges", "Links", "link"),
)


def changes(diff: Json, kind: Kind) -> list[tuple[str, Json]]:
    """Return `gained` or `lost` with each part of a kind, gained parts first."""
    return [(change, part) for change in _CHANGES for part in diff[change][kind.member]]


def counts_text(diff: Json, kind: Kind, *, noun: str = "") -> str:
    """Return how many parts of a kind were gained and lost, such as `2 gained, 1 lost`, or "" if none were.

    A `noun` that is not "" follows the first number: `2 ways gained, 1 lost`.
    """
    counts = ((len(diff[change][kind.member]), change) for change in _CHANGES)
    listed = [(number, change) for number, change in counts if number]
    return ", ".join(
        f"{count_text(number, noun) if noun and not index else f'{number:,}'} {change}"
        for index, (number, change) in enumerate(listed)
    )


def field_verdict(body: Json) -> Sequence[str]:
    """Return sentences about gained and lost parts and names of operations, or that nothing differs."""
    counts = "; ".join(text for kind in KINDS if (text := counts_text(body, kind, noun=kind.noun)))
    if not counts:
        return [_no_difference(body, "the derivations in both windows are the same")]
    absent = absent_text(body) if is_complete(body) else ""
    sentences = [f"{counts}.", absent or common_text(body)]
    operations = operations_text(body)
    return [" ".join(sentences), *([f"{operations}."] if operations else [])]


def dataset_verdict(body: Json) -> Sequence[str]:
    """Return which fields of a dataset differ, and how many ways they gained and lost, or that none does."""
    fields: Sequence[Json] = body["fields"]
    if not fields:
        return [_no_difference(body, "all fields were made in the same ways in both windows, if at all")]
    ways = {change: sum(len(field[change]["derivations"]) for field in fields) for change in _CHANGES}
    differ = "differs" if len(fields) == 1 else "differ"
    names = names_text([field["field"] for field in fields])
    return [
        f"{count_text(len(fields), 'field')} {differ}: {names}.",
        f"{count_text(ways['gained'], 'way')} gained, {ways['lost']:,} lost.",
    ]


def is_complete(body: Json) -> bool:
    """Return True unless limits, rights or retention left something out of an answer."""
    return not body["truncated"] and "retainedFrom" not in body


def absent_text(diff: Json) -> str:
    """Return which window has no run that made the field, as a sentence, or "" if both have such runs.

    The diff must be complete and have a difference.
    """
    if diff["kept"]:
        return ""
    for change, window in (("gained", "window"), ("lost", "base window")):
        if not diff[change]["derivations"]:
            return f"No run of the {window} made it."
    return ""


def common_text(diff: Json) -> str:
    """Return how many operations and links are in both windows, as a sentence."""
    number: int = diff["kept"]
    if number > 1:
        return f"{number:,} operations and links are in both windows."
    return f"{'1' if number else 'No'} operation or link is in both windows."


def operation_text(operation: Json) -> str:
    """Return the dataset that an operation reads or writes, then its description."""
    texts = []
    if "endPoint" in operation:
        texts.append(f"{_ACCESS[operation['type']]} {name_json.text(operation['endPoint'])}")
    if operation["description"]:
        texts.append(operation["description"])
    return ": ".join(texts)


def operations_text(diff: Json) -> str:
    """Return the names of changed operations, as `Operations that are new: a; changed: b`, "" for none."""
    gained, lost = (_by_name(diff[change]["operations"]) for change in _CHANGES)
    names = {
        "new": [name for name in gained if name not in lost],
        "gone": [name for name in lost if name not in gained],
        "changed": [_changed_text(name, gained[name], lost[name]) for name in gained if name in lost],
    }
    texts = [f"{word}: {names_text(listed)}" for word, listed in names.items() if listed]
    return f"Operations that are {'; '.join(texts)}" if texts else ""


def _by_name(operations: Sequence[Json]) -> dict[str, list[Json]]:
    """Return operations by name; different ways may have different operations of the same name."""
    by_name: dict[str, list[Json]] = {}
    for operation in operations:
        by_name.setdefault(operation["name"], []).append(operation)
    return by_name


def _changed_text(name: str, gained: Sequence[Json], lost: Sequence[Json]) -> str:
    """Return the name of an operation, with its new and old text if there is one of each."""
    if len(gained) > 1 or len(lost) > 1:
        return name
    now, before = (_cut(operation_text(operation)) for operation in (gained[0], lost[0]))
    return f"{name} (“{now}”, before “{before}”)"


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS_MAX else f"{text[: CHARACTERS_MAX - 1]}…"


def _no_difference(body: Json, reason: str) -> str:
    """Return a sentence that nothing differs, as far as the answer can tell."""
    if not is_complete(body):
        return "No difference was found, but this answer is not complete."
    return f"Nothing differs: {reason if body.get('kept', 1) else 'no run of either window made it'}."
