"""Which changes does a message of DataHub's clients propose: each envelope to proposals of one aspect each.

The envelopes are those of the emitter: `ingestProposal` and `ingestProposalBatch` of its older protocol,
entities of its newer one, snapshots of metadata change events, and files with proposals and events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from fll_hbase.errors import UnreadableDocument
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources import strict_json
from fll_hbase.sources.datahub import query_parser
from fll_hbase.sources.datahub.proposal import DELETE, PATCH, UPSERT, Proposal, told
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, each, inside

_CHANGES = frozenset({UPSERT, PATCH, DELETE, "CREATE", "CREATE_ENTITY", "UPDATE", "RESTATE"})
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


class Form(Enum):
    """How a message wraps its proposals: by the route it came by, or as files have them."""

    PROPOSAL = "ingestProposal"
    PROPOSALS = "ingestProposalBatch"
    ENTITIES = "entities"
    PATCHES = "patches"
    SNAPSHOT = "ingest"
    SNAPSHOTS = "batchIngest"
    FILE = "ingestFile"


def proposals(checks: Validator, document: object, form: Form) -> Iterator[Proposal]:
    """The proposals of a message, in order; what is wrong with its envelope goes to `checks`."""
    return _FORMS[form](checks, document)


def _proposal(checks: Validator, document: object) -> Iterator[Proposal]:
    said = told(checks, document, "")
    if "proposal" not in said:
        checks.error("proposal", "missing")
    else:
        yield from _change(checks, _unescaped(said["proposal"]), "proposal")


def _proposals(checks: Validator, document: object) -> Iterator[Proposal]:
    said = told(checks, document, "")
    for item, at in each(checks.items(said, "proposals", "", required=True), "proposals"):
        yield from _change(checks, item, at)


def _unescaped(proposal: object) -> object:
    """The emitter sends `\\u00e9` for `é` in each text of a single proposal; urns must not differ by that."""
    if not isinstance(proposal, dict) or not isinstance(proposal.get("entityUrn"), str):
        return proposal
    urn = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), proposal["entityUrn"])
    return {**proposal, "entityUrn": urn}


def _change(checks: Validator, item: object, at: str) -> Iterator[Proposal]:
    said = told(checks, item, at)
    if not isinstance(item, dict):
        return
    urn = checks.required(said, "entityUrn", at, bytes_max=NAME_BYTES_MAX)
    urn_at = inside(at, "entityUrn")
    change = checks.choice(said, "changeType", at, _CHANGES, UPSERT)
    observed_ms = _observed_ms(checks, said, at)
    if change == DELETE:
        yield Proposal(urn, checks.optional(said, "aspectName", at), change, None, at, urn_at, observed_ms)
        return
    aspect = checks.required(said, "aspectName", at)
    place = inside(at, "aspect")
    holder = told(checks, said.get("aspect"), place)
    if "json" in holder:
        yield Proposal(urn, aspect, change, holder["json"], inside(place, "json"), urn_at, observed_ms)
    elif isinstance(said.get("aspect"), dict):
        value = _parsed(checks, holder, place)
        yield Proposal(urn, aspect, change, value, inside(place, "value"), urn_at, observed_ms)


def _parsed(checks: Validator, holder: dict[str, Any], at: str) -> object:
    """The aspect in an envelope, which is JSON in a text."""
    before = len(checks.errors)
    text = checks.required(holder, "value", at)
    if len(checks.errors) > before:
        return {}
    try:
        return strict_json.parse(text.encode())
    except UnreadableDocument as error:
        for fault in error.errors:
            checks.error(inside(at, "value"), fault.detail)
    return {}


def _entities(change: str) -> Callable[[Validator, object], Iterator[Proposal]]:
    def read(checks: Validator, document: object) -> Iterator[Proposal]:
        for item, at in each(document if isinstance(document, list) else [document], ""):
            yield from _entity(checks, item, at if isinstance(document, list) else "", change)

    return read


def _entity(checks: Validator, item: object, at: str, change: str) -> Iterator[Proposal]:
    said = told(checks, item, at)
    if not isinstance(item, dict):
        return
    urn = checks.required(said, "urn", at, bytes_max=NAME_BYTES_MAX)
    urn_at = inside(at, "urn")
    for aspect, wrapped in said.items():
        place = inside(at, aspect)
        if aspect == "urn":
            continue
        holder = told(checks, wrapped, place)
        if "value" in holder:
            observed_ms = _observed_ms(checks, holder, place)
            yield Proposal(urn, aspect, change, holder["value"], inside(place, "value"), urn_at, observed_ms)
        elif isinstance(wrapped, dict):
            checks.error(inside(place, "value"), "missing")


def _snapshot(checks: Validator, document: object) -> Iterator[Proposal]:
    yield from _ingested(checks, document, "")


def _snapshots(checks: Validator, document: object) -> Iterator[Proposal]:
    said = told(checks, document, "")
    metadata = checks.items(said, "systemMetadata", "")
    for item, at in each(checks.items(said, "entities", "", required=True), "entities"):
        number = int(at.rpartition(".")[2])
        system = metadata[number] if number < len(metadata) else None
        yield from _ingested(checks, {"entity": item, "systemMetadata": system}, at)


def _ingested(checks: Validator, document: object, at: str) -> Iterator[Proposal]:
    said = told(checks, document, at)
    if isinstance(document, dict):
        holder = told(checks, said.get("entity"), inside(at, "entity"))
        value = told(checks, holder.get("value", {}), inside(at, "entity.value"))
        yield from _aspects(checks, value, inside(at, "entity.value"), _observed_ms(checks, said, at))


def _aspects(checks: Validator, snapshots: dict[str, Any], at: str, observed_ms: int) -> Iterator[Proposal]:
    """The aspects of a snapshot, which stands under the name of its class."""
    if len(snapshots) != 1:
        checks.error(at, "must hold one snapshot under the name of its class")
    for name, snapshot in snapshots.items():
        place = inside(at, name)
        said = told(checks, snapshot, place)
        if not isinstance(snapshot, dict):
            continue
        urn = checks.required(said, "urn", place, bytes_max=NAME_BYTES_MAX)
        urn_at = inside(place, "urn")
        for item, where in each(checks.items(said, "aspects", place), inside(place, "aspects")):
            for kind, value in told(checks, item, where).items():
                aspect = kind.rpartition(".")[2]
                aspect = aspect[:1].lower() + aspect[1:]
                yield Proposal(urn, aspect, UPSERT, value, inside(where, kind), urn_at, observed_ms)


def _file(checks: Validator, document: object) -> Iterator[Proposal]:
    if query_parser.is_pairs(document):
        yield from query_parser.proposals(checks, document)
        return
    for item, at in each(document if isinstance(document, list) else [document], ""):
        place = at if isinstance(document, list) else ""
        said = told(checks, item, place)
        if "proposedSnapshot" in said:
            where = inside(place, "proposedSnapshot")
            snapshots = told(checks, said["proposedSnapshot"], where)
            yield from _aspects(checks, snapshots, where, _observed_ms(checks, said, place))
        elif "entityUrn" in said:
            yield from _change(checks, item, place)
        elif "urn" in said:
            yield from _entity(checks, item, place, UPSERT)
        elif isinstance(item, dict):
            checks.error(place, "is neither a proposal (entityUrn) nor an event (proposedSnapshot)")


def _observed_ms(checks: Validator, holder: dict[str, Any], at: str) -> int:
    place = inside(at, "systemMetadata")
    said = told(checks, holder.get("systemMetadata", {}), place)
    return checks.integer(said, "lastObserved", place, below=START_LIMIT_MS) if "lastObserved" in said else 0


_FORMS: dict[Form, Callable[[Validator, object], Iterator[Proposal]]] = {
    Form.PROPOSAL: _proposal,
    Form.PROPOSALS: _proposals,
    Form.ENTITIES: _entities(UPSERT),
    Form.PATCHES: _entities(PATCH),
    Form.SNAPSHOT: _snapshot,
    Form.SNAPSHOTS: _snapshots,
    Form.FILE: _file,
}
