"""Retention policies of options and files; invalid ones are reported before Spark starts."""

from __future__ import annotations

import json
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import pytest

from cli.commands import fll
from fll_hbase.cli.commands.spark.retention import _compaction_hint, _policy, _read_policy
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.tables import Put, open_table

RETENTION = ("spark", "retention")


def policy(members: Any) -> RetentionPolicy:
    file = BytesIO(json.dumps(members).encode())
    file.name = "policy.json"
    with click.Context(click.Command("x"), obj=lambda: 1_000_000_000):
        return _read_policy(file)


def test_the_horizon_of_an_end_point_is_its_own_else_that_of_its_namespace_else_that_of_all() -> None:
    horizons = policy(
        {
            "before": "now-100s",
            "namespaces": {"hr": "now-10s"},
            "endpoints": [{"namespace": "hr", "name": "people", "before": "7"}],
        }
    )
    assert horizons.cutoff_ms(Dataset("shop", "orders")) == 999_900_000
    assert horizons.cutoff_ms(Dataset("hr", "teams")) == 999_990_000
    assert horizons.cutoff_ms(Dataset("hr", "people")) == 7_000


def test_options_are_a_policy_of_one_rule() -> None:
    people = Dataset("hr", "people")
    assert _policy(5, None, None) == RetentionPolicy(5)
    assert _policy(5, "hr", None) == RetentionPolicy(namespaces_ms={"hr": 5})
    assert _policy(5, "hr", "people") == RetentionPolicy(datasets_ms={people: 5})
    assert policy({}) == RetentionPolicy()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "not a policy"),
        ({"befor": "now"}, "unknown members ['befor']"),
        ({"before": "soon"}, "is not a time"),
        ({"namespaces": ["hr"]}, "not a policy"),
        ({"endpoints": [{"name": "people", "before": "now"}]}, "'namespace'"),
    ],
)
def test_a_policy_that_is_none_is_reported(tmp_path: Path, members: Any, message: str) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(members))
    result = fll(*RETENTION, "--policy", str(tmp_path / "policy.json"))
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--namespace", "hr"), "go with --before"),
        (("--before", "now", "--name", "people"), "--name goes with --namespace"),
        (("--before", "soon"), "is not a time"),
    ],
)
def test_options_that_do_not_go_together_are_reported(options: tuple[str, ...], message: str) -> None:
    result = fll(*RETENTION, *options)
    assert result.exit_code == 2
    assert message in result.output


def test_a_short_grace_period_is_refused_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLL_GRACE_MS", "60000")
    url = f"sqlite:///{tmp_path}/lineage.db"
    with closing(open_table(url)) as opened:
        opened.write([[Put(b"a", b"d:x", b"1")]])
        for options in ([], ["--dry-run"]):
            result = fll(*RETENTION, "--store", url, *options)
            assert result.exit_code == 2
            assert "FLL_GRACE_MS=60000 is below an hour" in result.output
            assert result.output.count("\n") == 1


def test_a_compaction_is_suggested_for_hbase_alone() -> None:
    assert _compaction_hint("sqlite:///a.db") == ""
    assert _compaction_hint("hbase://gateway:9090/lineage").endswith("major_compact 'lineage'")
