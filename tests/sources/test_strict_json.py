"""A document with members that are given twice is refused at the cost of its size."""

from __future__ import annotations

import pytest

from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json


class Name(str):
    """A name that counts how often it is compared with others."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("count", [10, 1_000, 50_000])
def test_the_member_that_is_given_twice_is_found_in_one_pass(count: int) -> None:
    names = [*(f"a{number}" for number in range(count)), "z", "z"]
    Name.comparisons = 0
    with pytest.raises(UnreadableDocument, match="member 'z' is given twice in one object"):
        strict_json._members([(Name(name), 0) for name in names])
    # Of names with equal hashes; a quadratic search would compare each with all others.
    assert Name.comparisons < 10 + count


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(UnreadableDocument, match="byte order mark"):
        strict_json.parse(b"\xef\xbb\xbf{}")


def test_the_first_of_several_is_named() -> None:
    with pytest.raises(UnreadableDocument, match="member 'b' is given twice"):
        strict_json.parse(b'{"a": 1, "b": 2, "c": 3, "c": 4, "b": 5}')
