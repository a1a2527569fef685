"""Lines and plans of plan files: whatever is damaged in them is one kind of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from fll_hbase.capture.resolver.dump import decode_line, decode_plan

DAMAGED = [b"", b"{", b"[]", b"\xff", b'"\xff"', b'{"x": ' + b"[" * 100_000]


@pytest.mark.parametrize("decode", [decode_line, decode_plan])
@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_damage_is_one_kind_of_error(decode: Callable[[bytes], Any], text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(text)
