"""Parameters of queries are read from their annotations; each kind names its faults."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

import numpy
import pytest

from fll_hbase.queries.parameters import About, AnyDirection, Kind, Parameter, Time, parameters


@dataclass(frozen=True)
class Example:
    name: str
    level: Annotated[int | None, About("Hops", minimum=1, maximum=9)] = None
    direction: AnyDirection = "both"
    indirect: Annotated[bool, About("Include indirect dependencies", name="withIndirect")] = True
    since: Time = "now-1d"
    text: str = ""


def parameter(attribute: str) -> Parameter:
    (item,) = (item for item in parameters(Example) if item.attribute == attribute)
    return item


def test_kinds_are_those_of_the_types() -> None:
    kinds = {item.attribute: item.kind for item in parameters(Example)}
    assert kinds == {
        "name": Kind.TEXT,
        "level": Kind.COUNT,
        "direction": Kind.WORD,
        "indirect": Kind.FLAG,
        "since": Kind.TIME,
        "text": Kind.TEXT,
    }
    assert [item.attribute for item in parameters(Example) if item.required] == ["name"]
    assert parameter("direction").words == ("both", "backward", "forward")
    assert parameter("indirect").name == "withIndirect"
    assert parameter("level").name == "level"


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        ("level", 3, "3"),
        ("level", None, ""),
        ("indirect", False, "false"),
        ("direction", "forward", "forward"),
        ("since", date(2026, 11, 1), "2026-11-01"),
        ("since", datetime(2026, 11, 1, tzinfo=UTC), "2026-11-01T00:00:00+00:00"),
        ("since", 1e22, "10000000000000000000000"),
        ("since", 0.001, "0.001"),
        ("text", "", ""),
    ],
)
def test_the_text_of_a_url(attribute: str, value: Any, text: str) -> None:
    assert parameter(attribute).to_text(value) == text


@pytest.mark.parametrize(
    ("attribute", "value", "fault"),
    [
        ("name", "", "is empty"),
        ("name", "\udcff", "'\\udcff' is not UTF-8"),
        ("level", 0, "invalid value 0: expected from 1 to 9"),
        ("level", 10, "invalid value 10: expected from 1 to 9"),
        ("level", "3", "invalid value '3': expected from 1 to 9"),
        ("level", True, "invalid value True: expected from 1 to 9"),
        ("since", True, "True is not a time"),
        ("since", 1j, "1j is not a time"),
        ("direction", "up", "invalid value 'up': expected both, backward or forward"),
        ("name", None, "is empty"),
        ("name", 1, "1 is not a text"),
        ("level", "", "invalid value '': expected from 1 to 9"),
        ("direction", None, "invalid value None: expected both, backward or forward"),
        ("direction", "", "invalid value '': expected both, backward or forward"),
        ("indirect", None, "invalid value None: expected True or False"),
        ("indirect", "no", "invalid value 'no': expected True or False"),
        ("since", "", "is empty; leave it out for the default"),
        ("since", None, "is empty; leave it out for the default"),
        ("since", b"now", "b'now' is not a time"),
        ("since", datetime(2026, 1, 1), "2026-01-01 00:00:00 is a time of day, which needs a zone"),
    ],
)
def test_faults(attribute: str, value: Any, fault: str) -> None:
    assert parameter(attribute).fault(value).startswith(fault)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("name", "a"),
        ("level", None),
        ("level", 9),
        ("direction", "both"),
        ("since", 0),
        ("since", Decimal("1.5")),
        ("since", numpy.int64(5)),
        ("text", ""),
        ("text", None),
    ],
)
def test_what_is_valid_has_no_fault(attribute: str, value: Any) -> None:
    assert parameter(attribute).fault(value) == ""
