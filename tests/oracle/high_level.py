"""Dataset lineage hop by hop: the entries of the dataset-level query."""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.content import EndPoint, Json
from tests.oracle.relations import Claim

ClaimsByRun = list[frozenset[Claim]]  # what each run of the window says
DIRECTIONS = ("backward", "forward")


def walk(
    claim_sets: ClaimsByRun, dataset: EndPoint, *, hops: int, direction: str, indirect: bool
) -> list[Json]:
    """All entries within so many hops, each direction by itself, in the contract's order."""
    entries = [
        entry
        for way in DIRECTIONS
        if direction in (way, "both")
        for entry in _walk_one_way(claim_sets, dataset, hops, way, indirect)[0]
    ]
    return sorted(entries, key=_order)


def cap_reached(
    claim_sets: ClaimsByRun, dataset: EndPoint, hops: int, direction: str, indirect: bool
) -> bool:
    """Whether end points were found that so many hops left unasked."""
    ways = [way for way in DIRECTIONS if direction in (way, "both")]
    return any(_walk_one_way(claim_sets, dataset, hops, way, indirect)[1] for way in ways)


def _walk_one_way(
    claim_sets: ClaimsByRun, dataset: EndPoint, hops: int, way: str, indirect: bool
) -> tuple[list[Json], set[EndPoint]]:
    entries: list[Json] = []
    done: set[EndPoint] = set()
    front = {dataset}
    for level in range(1, hops + 1):
        done |= front
        reached: set[EndPoint] = set()
        for end_point in front:
            for source, destination in _neighbours(claim_sets, end_point, way):
                entry = _entry(claim_sets, source, destination, indirect)
                if entry:
                    entries.append({**entry, "level": level, "direction": way})
                    reached |= {source, destination} - {None}
        front = reached - done
    return entries, front


def _neighbours(
    claim_sets: ClaimsByRun, end_point: EndPoint, way: str
) -> set[tuple[EndPoint | None, EndPoint | None]]:
    """The (source, destination) that stand one hop backward or forward of the end point."""
    ends = {(claim.source, claim.destination) for run in claim_sets for claim in run}
    return {(s, d) for s, d in ends if end_point == (d if way == "backward" else s)}


def _entry(
    claim_sets: ClaimsByRun, source: EndPoint | None, destination: EndPoint | None, indirect: bool
) -> Json:
    """One (source, destination) merged over the runs; empty when nothing is left to say."""
    claims = {c for run in claim_sets for c in run if (c.source, c.destination) == (source, destination)}
    direct = {c.pair for c in claims if c.pair and not c.indirect}
    only_indirect = {c.pair for c in claims if c.pair and c.indirect} - direct if indirect else set()
    unknown = any(claim.pair is None for claim in claims)
    if not (direct or only_indirect or unknown):
        return {}
    pairs = [p.json(indirect=False) for p in direct] + [p.json(indirect=True) for p in only_indirect]
    ends = {"source": source and source.json(), "destination": destination and destination.json()}
    return {**ends, "fieldmap": sorted(pairs, key=_pair_order)} | ({"unknown": True} if unknown else {})


def entries_once(claim_sets: Iterable[Claim]) -> list[Json]:
    """Return the lineage of one document: each pair once, forward, generated fields backward."""
    runs = [frozenset(claim_sets)]
    entries = []
    for source, destination in {(claim.source, claim.destination) for claim in runs[0]}:
        way = "forward" if source else "backward"
        entry = _entry(runs, source, destination, indirect=True)
        entries.append({**entry, "level": 1, "direction": way})
    return sorted(entries, key=_order)


def _pair_order(pair: Json) -> tuple[object, ...]:
    return (*_null_first(pair["from"]), *_null_first(pair["to"]), "scope" in pair)


def _null_first(name: str | None) -> tuple[bool, str]:
    return (name is not None, name or "")


def _end_order(end: Json | None) -> tuple[bool, str, str]:
    return (True, end["namespace"], end["name"]) if end else (False, "", "")


def _order(entry: Json) -> tuple[object, ...]:
    """Level, source, destination (null first); ties backward first."""
    ends = _end_order(entry["source"]), _end_order(entry["destination"])
    return (entry["level"], *ends, entry["direction"] != "backward")
