"""Flow policies forbid datasets by patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.flow_policy import FlowPolicy, pattern_fault


def policy(into: str = "", only_into: str = "") -> FlowPolicy:
    return FlowPolicy("p", "PII", into, only_into, "value", False, "", 0)


@pytest.mark.parametrize(
    ("into", "only_into", "forbidden"),
    [
        ("marketing/*", "", {"marketing/a", "marketing/b"}),
        ("marketing/a", "", {"marketing/a"}),
        ("", "marketing/*", {"s3://x/a", "bank/a"}),
        ("*/a", "bank/*", {"marketing/a", "s3://x/a"}),
        ("*", "*", set()),
        ("s3://*", "", {"s3://x/a"}),
    ],
)
def test_a_dataset_is_forbidden_by_one_pattern_and_allowed_by_the_other(
    into: str, only_into: str, forbidden: set[str]
) -> None:
    datasets = [
        Dataset(*names) for names in (("marketing", "a"), ("marketing", "b"), ("bank", "a"), ("s3://x", "a"))
    ]
    matching = {str(dataset) for dataset in datasets if policy(into, only_into).forbids([dataset])}
    assert matching == forbidden


@given(st.text("ab:/*", max_size=6), st.text("ab:/", min_size=1, max_size=4), st.text("ab/", max_size=3))
def test_a_forbidden_dataset_is_in_a_namespace_that_may_have_one(
    into: str, namespace: str, name: str
) -> None:
    if policy(into).forbids([Dataset(namespace, name)]):
        assert policy(into).may_forbid(namespace)


def test_a_namespace_without_forbidden_datasets() -> None:
    assert not policy("marketing/*").may_forbid("marketng")
    assert not policy("marketing/*").may_forbid("market")
    assert policy("marketing/a/*").may_forbid("marketing")


def test_any_name_of_a_dataset_may_match() -> None:
    names = [Dataset("bank", "x"), Dataset("marketing", "y")]
    assert policy("marketing/*").forbids(names)
    assert not policy("*", "bank/*").forbids(names)


def test_a_pattern_needs_a_dataset() -> None:
    assert pattern_fault("marketing")
    assert not pattern_fault("marketing/*")
    assert not pattern_fault("mark*")


def test_the_texts_that_may_be_a_namespace() -> None:
    assert list(policy("s3://b/x/*", "bank/y").namespace_texts()) == [("s3://b", "s3://b/x"), ("bank",)]
    assert list(policy("*").namespace_texts()) == [("*",)]
