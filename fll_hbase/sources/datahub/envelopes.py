"""Envelopes of DataHub messages, unwrapped to proposals of one aspect each.

The emitter's older protocol sends `ingestProposal` and `ingestProposalBatch`, its newer protocol sends
entities, and metadata change events contain snapshots. Files contain proposals and events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from itertools import chain, repeat

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.datahub import query_parser
from fll_hbase.sources.datahub.proposal import DELETE, PATCH, UPSERT, Proposal, without_nulls
from fll_hbase.sources.validation import NAME_BYTES_MAX, Part

_CHANGES = frozenset({UPSERT, PATCH, DELETE, "CREATE", "CREATE_ENTITY", "UPDATE", "RESTATE"})
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


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
    if query_parser.is_query_parser_output(document.value):
        yield from query_parser.proposals(document)
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
