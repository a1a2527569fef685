"""Envelopes of DataHub messages, unwrapped to proposals of one aspect each.

The emitter's older protocol sends `ingestProposal` and `ingestProposalBatch`, its newer protocol sends
entities, and metadata change events contain snapshots. Files contain proposals, events, or column lineage
from a query parser: pairs of a target and its sources. A pair is a list of two objects. The first has `Left`,
a table, or `Right`, a column. The rows of the table depend on the columns in the second object, and the
column is derived from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from itertools import chain, repeat
from typing import Any, TypeAlias

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.datahub import urns
from fll_hbase.sources.datahub.proposal import DELETE, PATCH, UPSERT, Proposal, without_nulls
from fll_hbase.sources.validation import NAME_BYTES_MAX, Part

_CHANGES = frozenset({UPSERT, PATCH, DELETE, "CREATE", "CREATE_ENTITY", "UPDATE", "RESTATE"})
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
# The output names databases and tables, but not the platform.
_PLATFORM = "hive"
PARSED_ASPECT = "fineGrainUpstreamLineage"
_Upstreams: TypeAlias = dict[str, dict[str, Any]]
"""Upstreams of a written table by the urns of the tables read."""

_TABLE_PARTS = ("DatabaseName", "SchemaName", "TableName")


class MessageFormat(Enum):
    """Envelope of a message, determined by its route."""

    PROPOSAL = "ingestProposal"
    PROPOSALS = "ingestProposalBatch"
    ENTITIES = "entities"
    PATCHES = "patches"
    SNAPSHOT = "ingest"
    SNAPSHOTS = "batchIngest"
    FILE = "ingestFile"


def _proposal(document: Part) -> Iterator[Proposal]:
    """Yield the proposal in the member `proposal` of an object; add an error if it is missing."""
    data = without_nulls(document)
    if "proposal" not in data:
        data.error("missing", "proposal")
    else:
        yield from _change(_unescaped(data.member("proposal")))


def _proposals(document: Part) -> Iterator[Proposal]:
    """Yield the proposals in an object with the list `proposals`; refuse unreadable proposals."""
    for item in without_nulls(document).items("proposals", required=True):
        yield from _readable(item, _change)


def _readable(part: Part, read: _Reader) -> Iterator[Proposal]:
    """Yield the proposals in one of several parts of a message; refuse an unreadable part."""
    errors_before = part.validator.errors.count
    # Collect them in a list, since errors of the envelope must be known before the first aspect is read.
    listed = list(read(part))
    if not part.validator.refuse(errors_before=errors_before):
        yield from listed


def _unescaped(proposal: Part) -> Part:
    """Return the proposal with escapes such as `\\u00e9` in its urn decoded."""
    # The emitter escapes every text of a single proposal, which corrupts characters beyond U+FFFF.
    urn = proposal.get("entityUrn")
    if not isinstance(urn, str):
        return proposal
    decoded = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), urn)
    return Part(proposal.validator, {**proposal.members, "entityUrn": decoded}, proposal.path)


def _change(item: Part) -> Iterator[Proposal]:
    """Yield the proposal of a `MetadataChangeProposal`, which requires `aspect` unless it is a DELETE."""
    data = without_nulls(item)
    if not data.is_object:
        return
    urn = data.required("entityUrn", bytes_max=NAME_BYTES_MAX)
    change = data.choice("changeType", _CHANGES, UPSERT)
    observed_ms = _observed_ms(data)
    # A deletion of a whole entity has no aspect.
    is_deletion = change == DELETE
    aspect = data.optional("aspectName") if is_deletion else data.required("aspectName")
    value = data.member("aspect")
    if not is_deletion:
        holder = without_nulls(value)
        if not holder.is_object:
            return
        # In files the aspect is an object; in requests of the emitter it is JSON in a string.
        value = holder.member("json") if "json" in holder else _parse_aspect(holder)
    yield Proposal(urn, aspect, change, value, data.path_of("entityUrn"), observed_ms)


def _parse_aspect(holder: Part) -> Part:
    """Parse the JSON text in the `value` of an aspect, or return {} with errors if it is unreadable."""
    errors_before = holder.validator.errors.count
    text = holder.required("value")
    parsed: object = {}
    # The error is already reported, and parsing the placeholder would add a false error.
    if holder.validator.errors.count == errors_before:
        try:
            parsed = strict_json.parse_with_halves(text.encode())
        except UnreadableDocument as error:
            for fault in error.errors:
                holder.error(fault.detail, "value")
    return Part(holder.validator, parsed, holder.path_of("value"))


def _one_or_several(document: Part) -> Iterator[Part]:
    """Yield the items of an array, or the document itself as the only item."""
    return document.listed() if isinstance(document.value, list) else iter([document])


def _entities(change: str, document: Part) -> Iterator[Proposal]:
    """Yield the aspects of one or several entities as proposals of a change; refuse unreadable entities."""
    for item in _one_or_several(document):
        yield from _readable(item, partial(_entity, change))


def _entity(change: str, item: Part) -> Iterator[Proposal]:
    """Yield a proposal for each aspect of an entity; leave out an aspect without `value`, with a warning."""
    data = without_nulls(item)
    if not data.is_object:
        return
    urn = data.required("urn", bytes_max=NAME_BYTES_MAX)
    for aspect, wrapped in data.member_parts():
        if aspect == "urn":
            continue
        if wrapped.as_optional_object().get("value") is not None:
            observed_ms = _observed_ms(wrapped)
            yield Proposal(urn, aspect, change, wrapped.member("value"), data.path_of("urn"), observed_ms)
        elif wrapped.is_object:
            wrapped.warning(f"missing; {wrapped.path} is left out", "value")


def _snapshots(document: Part) -> Iterator[Proposal]:
    """Yield the aspects of the snapshots in the list `entities`; refuse unreadable snapshots."""
    data = without_nulls(document)
    # This array is parallel to `entities`, but may be shorter.
    metadata = chain((item.value for item in data.optional_items("systemMetadata")), repeat(None))
    for item, system in zip(data.items("entities", required=True), metadata, strict=False):
        snapshot = Part(item.validator, {"entity": item.value, "systemMetadata": system}, item.path)
        yield from _readable(snapshot, _snapshot)


def _snapshot(document: Part) -> Iterator[Proposal]:
    """Yield the aspects of the snapshot in `entity`, with the time in `systemMetadata`."""
    data = without_nulls(document)
    if data.is_object:
        entity = without_nulls(data.member("entity"))
        yield from _aspects(without_nulls(entity.member("value", {})), _observed_ms(data))


def _aspects(snapshots: Part, observed_ms: int) -> Iterator[Proposal]:
    """Yield the aspects of a snapshot, whose member name is its class; add errors for other shapes."""
    if len(snapshots.members) != 1:
        snapshots.error("must hold one snapshot under the name of its class")
    for _, snapshot in snapshots.member_parts():
        data = without_nulls(snapshot)
        if not data.is_object:
            continue
        urn = data.required("urn", bytes_max=NAME_BYTES_MAX)
        for item in data.items("aspects"):
            for kind, value in without_nulls(item).member_parts():
                # Snapshots name a class, as `com.linkedin.dataset.UpstreamLineage`; proposals the aspect.
                aspect = kind.rpartition(".")[2]
                aspect = aspect[:1].lower() + aspect[1:]
                yield Proposal(urn, aspect, UPSERT, value, data.path_of("urn"), observed_ms)


def _file(document: Part) -> Iterator[Proposal]:
    """Yield the proposals of a file: output of the query parser, or one or several items."""
    # Check this form first, since its output is a list, too.
    if _is_query_parser_output(document.value):
        yield from _parsed_proposals(document)
        return
    for item in _one_or_several(document):
        yield from _readable(item, _file_item)


def _file_item(item: Part) -> Iterator[Proposal]:
    """Yield the proposals of a change proposal, change event or entity in a file, or add an error."""
    data = without_nulls(item)
    if "proposedSnapshot" in data:
        yield from _aspects(without_nulls(data.member("proposedSnapshot")), _observed_ms(data))
    elif "entityUrn" in data:
        yield from _change(item)
    elif "urn" in data:
        yield from _entity(UPSERT, item)
    elif data.is_object:
        item.error("is neither a proposal (entityUrn) nor an event (proposedSnapshot)")


def _observed_ms(holder: Part) -> int:
    """Return `lastObserved` of the system metadata in ms since 1970, or 0 if absent or (warned) invalid."""
    data = holder.optional_object("systemMetadata")
    if data.get("lastObserved") is None:
        return 0
    return data.readable(lambda part: part.integer("lastObserved", below=START_LIMIT_MS)) or 0


def _is_query_parser_output(document: object) -> bool:
    """Return whether a document is a pair, or a list with at least one pair."""
    return _is_pair(document) or (
        isinstance(document, list) and any(map(_is_pair, deadline.watched(document)))
    )


def _parsed_proposals(document: Part) -> Iterator[Proposal]:
    """Yield a `fineGrainUpstreamLineage` proposal per written table, sorted by urn; warn of other items."""
    # Pairs of one table may be apart in the list, so they are grouped into one run.
    written: dict[str, _Upstreams] = {}
    for item in [document] if _is_pair(document.value) else document.listed():
        if not _is_pair(item.value):
            item.warning("must be a list of a `Left` or `Right` and its sources; left out")
            continue
        pair = item.readable(_read_pair)
        if pair is None:
            continue
        merged = written.setdefault(pair[0], {})
        for dataset, members in pair[1].items():
            upstream = merged.setdefault(dataset, _empty_upstream())
            for name, items in members.items():
                upstream[name] += items
    for urn, upstreams in sorted(written.items()):
        value = {"upstreams": [{"dataset": dataset, **upstreams[dataset]} for dataset in sorted(upstreams)]}
        yield Proposal(urn, PARSED_ASPECT, UPSERT, Part(document.validator, value), "", 0)


def _read_pair(pair: Part) -> tuple[str, _Upstreams]:
    """Return the urn of the written table of a pair, and its upstreams; add errors for missing names."""
    left, right = pair.listed()
    is_table = "Left" in left
    target = without_nulls(left.member("Left" if is_table else "Right"))
    sources = without_nulls(right)
    upstreams: dict[str, dict[str, Any]] = {}
    urn = _table(target, "fqtn" if is_table else "fqcn")
    for item in sources.items("tables"):
        # A table may be read without any of its columns.
        upstreams.setdefault(_table(without_nulls(item), "fqtn"), _empty_upstream())
    for item in sources.items("columns"):
        column = without_nulls(item)
        source = upstreams.setdefault(_table(column, "fqcn"), _empty_upstream())
        name = column.required("fqcnColumnName")
        if is_table:
            source["constraints"].append(name)
        else:
            source["fields"].append({"sourceField": name, "targetField": target.required("fqcnColumnName")})
    return urn, upstreams


def _empty_upstream() -> dict[str, Any]:
    """Return the empty lists of an upstream table: fields and constraints."""
    return {"fields": [], "constraints": []}


def _table(data: Part, prefix: str) -> str:
    """Return the urn of a table, without a schema that only repeats the table's name."""
    names = [data.optional(f"{prefix}{part}") for part in _TABLE_PARTS]
    names[2] = data.required(f"{prefix}TableName")
    # As in DataHub, `tmp`, `tfvdm1`, `tfvdm1` is the table `tmp.tfvdm1`.
    if names[1] == names[2]:
        names[1] = ""
    return urns.dataset_urn(Dataset(_PLATFORM, ".".join(filter(None, names))))


def _is_pair(item: object) -> bool:
    """Return whether an item is a pair: an object with only `Left` or `Right`, and its sources."""
    match item:
        case [{"Left": _, **others} | {"Right": _, **others}, _]:
            return not others
    return False


_Reader = Callable[[Part], Iterator[Proposal]]
READERS: dict[MessageFormat, _Reader] = {
    MessageFormat.PROPOSAL: _proposal,
    MessageFormat.PROPOSALS: _proposals,
    MessageFormat.ENTITIES: partial(_entities, UPSERT),
    MessageFormat.PATCHES: partial(_entities, PATCH),
    MessageFormat.SNAPSHOT: _snapshot,
    MessageFormat.SNAPSHOTS: _snapshots,
    MessageFormat.FILE: _file,
}
"""Functions, by format, that yield the proposals of a message in order and add errors as they reach them."""
