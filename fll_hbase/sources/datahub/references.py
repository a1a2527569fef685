"""Which end points and fields do the urns in an aspect name; wrong ones are faults at their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase.model.operations import EndPoint, EndPointField
from fll_hbase.sources.checks import ID_BYTES_MAX, NAME_BYTES_MAX, Checks, each, inside
from fll_hbase.sources.datahub import paths, urns

NOWHERE = EndPoint("?", "?")


def read_end_point(checks: Checks, value: object, at: str) -> EndPoint:
    """The end point that a urn names."""
    text = checks.name(value, at)
    if text == "?":
        return NOWHERE
    try:
        found = urns.end_point(text)
    except ValueError as error:
        checks.fault(at, str(error))
        return NOWHERE
    checks.name(found.namespace, at, bytes_max=ID_BYTES_MAX)
    checks.name(found.name, at, bytes_max=NAME_BYTES_MAX)
    return found


def read_field(checks: Checks, value: object, at: str) -> EndPointField:
    """The field that a schemaField urn names."""
    text = checks.name(value, at)
    if text == "?":
        return EndPointField(NOWHERE, "?")
    try:
        found = urns.field(text)
    except ValueError as error:
        checks.fault(at, str(error))
        return EndPointField(NOWHERE, "?")
    name = checks.name(paths.field_name(found.path), at, bytes_max=NAME_BYTES_MAX)
    checks.name(found.end_point.name, at, bytes_max=NAME_BYTES_MAX)
    checks.name(found.end_point.namespace, at, bytes_max=ID_BYTES_MAX)
    return EndPointField(found.end_point, name)


def listed(checks: Checks, said: dict[str, Any], name: str, at: str) -> Iterator[tuple[Any, str]]:
    """The items of a member, with their places."""
    return each(checks.items(said, name, at), inside(at, name))


def end_point_in(checks: Checks, holder: dict[str, Any], name: str, at: str) -> EndPoint:
    """The end point that a member names, which must be there."""
    if name not in holder:
        checks.fault(inside(at, name), "missing")
        return NOWHERE
    return read_end_point(checks, holder[name], inside(at, name))
