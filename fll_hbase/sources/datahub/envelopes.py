"""Envelopes of DataHub messages, unwrapped to proposals of one aspect each.

The emitter sends `ingestProposal` and `ingestProposalBatch` in its older protocol, entities in its newer one,
and snapshots in metadata change events; files contain proposals and events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.datahub import query_parser
from fll_hbase.sources.datahub.proposal import (
    DELETE,
    PATCH,
    UPSERT,
    MessageValidator,
    Proposal,
    object_without_nulls,
)
from fll_hbase.sources.openlineage.json_access import list_items as json_list
from fll_hbase.sources.openlineage.json_access import members
from fll_hbase.sources.validation import NAME_BYTES_MAX, child_path, items_with_path

_CHANGES = frozenset({UPSERT, PATCH, DELETE, "CREATE", "CREATE_ENTITY", "UPDATE", "RESTATE"})
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


class MessageFormat(Enum):
    """Envelope of a message, which its route determines."""

    PROPOSAL = "ingestProposal"
    PROPOSALS = "ingestProposalBatch"
    ENTITIES = "entities"
    PATCHES = "patches"
    SNAPSHOT = "ingest"
    SNAPSHOTS = "batchIngest"
    FILE = "ingestFile"


def proposals(validator: MessageValidator, document: object, form: MessageFormat) -> Iterator[Proposal]:
    """Iterate over the proposals of a message in order; errors of the envelope go to `validator`."""
    return _FORMS[form](validator, document)


def _proposal(validator: MessageValidator, document: object) -> Iterator[Proposal]:
    """Yield the proposal in the member `proposal` of an object; an error if it is missing."""
    data = object_without_nulls(validator, document, "")
    if "proposal" not in data:
        validator.error("proposal", "missing")
    else:
        yield from _change(validator, _unescaped(data["proposal"]), "proposal")


def _proposals(validator: MessageValidator, document: object) -> Iterator[Proposal]:
    """Yield the proposals in an object with the list `proposals`; one that cannot be read is refused."""
    data = object_without_nulls(validator, document, "")
    for item, path in items_with_path(validator.items(data, "proposals", "", required=True), "proposals"):
        yield from _readable(validator, _change(validator, item, path))


def _readable(validator: MessageValidator, part: Iterator[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals of one of several parts of a message; one that cannot be read is refused."""
    errors_before = validator.errors.count
    # As a list: errors of the envelope are known before the first aspect is read.
    listed = list(part)
    if not validator.refuse(errors_before=errors_before):
        yield from listed


def _unescaped(proposal: object) -> object:
    """Return the proposal with escapes such as `\\u00e9` in its urn decoded."""
    # The emitter escapes every text of a single proposal, and corrupts characters beyond U+FFFF.
    if not isinstance(proposal, dict) or not isinstance(proposal.get("entityUrn"), str):
        return proposal
    urn = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), proposal["entityUrn"])
    return {**proposal, "entityUrn": urn}


def _change(validator: MessageValidator, item: object, path: str) -> Iterator[Proposal]:
    """Yield the proposal of a `MetadataChangeProposal`; none without `aspect`, except for a DELETE."""
    data = object_without_nulls(validator, item, path)
    if not isinstance(item, dict):
        return
    urn = validator.required(data, "entityUrn", path, bytes_max=NAME_BYTES_MAX)
    urn_at = child_path(path, "entityUrn")
    change = validator.choice(data, "changeType", path, _CHANGES, UPSERT)
    observed_ms = _observed_ms(validator, data, path)
    # A deletion of a whole entity names no aspect.
    if change == DELETE:
        yield Proposal(
            urn, validator.optional(data, "aspectName", path), change, None, path, urn_at, observed_ms
        )
        return
    aspect = validator.required(data, "aspectName", path)
    item_path = child_path(path, "aspect")
    holder = object_without_nulls(validator, data.get("aspect"), item_path)
    # Files have the aspect as an object, the emitter's routes as JSON in a string.
    if "json" in holder:
        yield Proposal(
            urn, aspect, change, holder["json"], child_path(item_path, "json"), urn_at, observed_ms
        )
    elif isinstance(data.get("aspect"), dict):
        value = _parse_aspect(validator, holder, item_path)
        yield Proposal(urn, aspect, change, value, child_path(item_path, "value"), urn_at, observed_ms)


def _parse_aspect(validator: MessageValidator, holder: dict[str, Any], path: str) -> object:
    """Parse the JSON text in the `value` of an aspect; {} with errors if it is unreadable."""
    errors_before = validator.errors.count
    text = validator.required(holder, "value", path)
    # The error is reported; parsing the placeholder would add a false one.
    if validator.errors.count > errors_before:
        return {}
    try:
        return strict_json.parse_with_halves(text.encode())
    except UnreadableDocument as error:
        for fault in error.errors:
            validator.error(child_path(path, "value"), fault.detail)
    return {}


def _entities(change: str) -> Callable[[MessageValidator, object], Iterator[Proposal]]:
    """Return a reader of one or several entities, whose aspects it yields as proposals of this change."""

    def read(validator: MessageValidator, document: object) -> Iterator[Proposal]:
        for item, path in items_with_path(document if isinstance(document, list) else [document], ""):
            item_path = path if isinstance(document, list) else ""
            yield from _readable(validator, _entity(validator, item, item_path, change))

    return read


def _entity(validator: MessageValidator, item: object, path: str, change: str) -> Iterator[Proposal]:
    """Yield a proposal for each aspect of an entity; one without a `value` is left out with a warning."""
    data = object_without_nulls(validator, item, path)
    if not isinstance(item, dict):
        return
    urn = validator.required(data, "urn", path, bytes_max=NAME_BYTES_MAX)
    urn_at = child_path(path, "urn")
    for aspect, wrapped in data.items():
        item_path = child_path(path, aspect)
        if aspect == "urn":
            continue
        holder = members(validator, wrapped, item_path, optional=True)
        if holder.get("value") is not None:
            observed_ms = _observed_ms(validator, holder, item_path)
            yield Proposal(
                urn, aspect, change, holder["value"], child_path(item_path, "value"), urn_at, observed_ms
            )
        elif isinstance(wrapped, dict):
            validator.warning(child_path(item_path, "value"), f"missing; {item_path} is left out")


def _snapshot(validator: MessageValidator, document: object) -> Iterator[Proposal]:
    """Yield the aspects of the snapshot in the member `entity`."""
    yield from _ingested(validator, document, "")


def _snapshots(validator: MessageValidator, document: object) -> Iterator[Proposal]:
    """Yield the aspects of the snapshots in the list `entities`; one that cannot be read is refused."""
    data = object_without_nulls(validator, document, "")
    metadata = json_list(validator, data, "systemMetadata", "")
    for item, path in items_with_path(validator.items(data, "entities", "", required=True), "entities"):
        number = int(path.rpartition(".")[2])
        # An array parallel to `entities`, which may be shorter.
        system = metadata[number] if number < len(metadata) else None
        snapshot = {"entity": item, "systemMetadata": system}
        yield from _readable(validator, _ingested(validator, snapshot, path))


def _ingested(validator: MessageValidator, document: object, path: str) -> Iterator[Proposal]:
    """Yield the aspects of the snapshot in `entity`, observed when `systemMetadata` says."""
    data = object_without_nulls(validator, document, path)
    if isinstance(document, dict):
        holder = object_without_nulls(validator, data.get("entity"), child_path(path, "entity"))
        value = object_without_nulls(validator, holder.get("value", {}), child_path(path, "entity.value"))
        yield from _aspects(
            validator, value, child_path(path, "entity.value"), _observed_ms(validator, data, path)
        )


def _aspects(
    validator: MessageValidator, snapshots: dict[str, Any], path: str, observed_ms: int
) -> Iterator[Proposal]:
    """Yield the aspects of a snapshot, whose member name is its class; errors for other shapes."""
    if len(snapshots) != 1:
        validator.error(path, "must hold one snapshot under the name of its class")
    for name, snapshot in snapshots.items():
        item_path = child_path(path, name)
        data = object_without_nulls(validator, snapshot, item_path)
        if not isinstance(snapshot, dict):
            continue
        urn = validator.required(data, "urn", item_path, bytes_max=NAME_BYTES_MAX)
        urn_at = child_path(item_path, "urn")
        for item, where in items_with_path(
            validator.items(data, "aspects", item_path), child_path(item_path, "aspects")
        ):
            for kind, value in object_without_nulls(validator, item, where).items():
                # Snapshots name a class, `com.linkedin.dataset.UpstreamLineage`, proposals the aspect.
                aspect = kind.rpartition(".")[2]
                aspect = aspect[:1].lower() + aspect[1:]
                yield Proposal(urn, aspect, UPSERT, value, child_path(where, kind), urn_at, observed_ms)


def _file(validator: MessageValidator, document: object) -> Iterator[Proposal]:
    """Yield the proposals of a file: output of the query parser, or one or several items."""
    # Before the other forms: its output is a list, too.
    if query_parser.is_query_parser_output(document):
        yield from query_parser.proposals(validator, document)
        return
    for item, path in items_with_path(document if isinstance(document, list) else [document], ""):
        item_path = path if isinstance(document, list) else ""
        yield from _readable(validator, _file_item(validator, item, item_path))


def _file_item(validator: MessageValidator, item: object, path: str) -> Iterator[Proposal]:
    """Yield the proposals of a change proposal, change event or entity in a file; else an error."""
    data = object_without_nulls(validator, item, path)
    if "proposedSnapshot" in data:
        where = child_path(path, "proposedSnapshot")
        snapshots = object_without_nulls(validator, data["proposedSnapshot"], where)
        yield from _aspects(validator, snapshots, where, _observed_ms(validator, data, path))
    elif "entityUrn" in data:
        yield from _change(validator, item, path)
    elif "urn" in data:
        yield from _entity(validator, item, path, UPSERT)
    elif isinstance(item, dict):
        validator.error(path, "is neither a proposal (entityUrn) nor an event (proposedSnapshot)")


def _observed_ms(validator: MessageValidator, holder: dict[str, Any], path: str) -> int:
    """Return `lastObserved` of the system metadata in epoch ms; 0 if it is absent or invalid."""
    item_path = child_path(path, "systemMetadata")
    data = members(validator, holder.get("systemMetadata"), item_path, optional=True)
    if data.get("lastObserved") is None:
        return 0
    errors_before = validator.errors.count
    observed_ms = validator.integer(data, "lastObserved", item_path, below=START_LIMIT_MS)
    return 0 if validator.leave_out(item_path, errors_before=errors_before) else observed_ms


_FORMS: dict[MessageFormat, Callable[[MessageValidator, object], Iterator[Proposal]]] = {
    MessageFormat.PROPOSAL: _proposal,
    MessageFormat.PROPOSALS: _proposals,
    MessageFormat.ENTITIES: _entities(UPSERT),
    MessageFormat.PATCHES: _entities(PATCH),
    MessageFormat.SNAPSHOT: _snapshot,
    MessageFormat.SNAPSHOTS: _snapshots,
    MessageFormat.FILE: _file,
}
