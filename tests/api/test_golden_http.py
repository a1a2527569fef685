"""The answers of every route and format are those of tests/golden/http, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from golden_http import GoldenFile, differences, read_files
from golden_stores import Clock, GoldenStores

FILES = read_files()


@pytest.fixture(scope="module")
def stores() -> Iterator[GoldenStores]:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        # Of times that the store and the API take by themselves, such as that of a tag.
        patch.setattr("fll_hbase.clock.now_ms", clock)
        made = GoldenStores(clock)
        yield made
        made.close()


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.name)
def test_answers_are_the_golden_ones(
    golden: GoldenFile, stores: GoldenStores, request: pytest.FixtureRequest
) -> None:
    actual = stores.answers(golden)
    if request.config.getoption("--update"):
        golden.path.write_bytes(str(actual).encode())
        return
    assert not (difference := differences(golden, actual)), f"\n{difference}"
