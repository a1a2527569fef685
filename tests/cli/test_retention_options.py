"""Retention policies of options and files; invalid ones are reported before Spark starts."""

from __future__ import annotations

import json
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import pytest

from fll_hbase.cli.retention_options import compaction_hint, read_policy, to_policy
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.tables import Put, open_table
from tests.support.commands import complaint, fll, printed

RETENTION = ("spark", "retention")
COMMANDS = [RETENTION, ("retention",)]


def policy(members: Any) -> RetentionPolicy:
    file = BytesIO(json.dumps(members).encode())
    file.name = "policy.json"
    with click.Context(click.Command("x"), obj=lambda: 1_000_000_000):
        return read_policy(file)


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
    assert to_policy(5, None, None) == RetentionPolicy(5)
    assert to_policy(5, "hr", None) == RetentionPolicy(namespaces_ms={"hr": 5})
    assert to_policy(5, "hr", "people") == RetentionPolicy(datasets_ms={people: 5})
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
@pytest.mark.parametrize("command", COMMANDS)
def test_a_policy_that_is_none_is_reported(
    tmp_path: Path, members: Any, message: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(members))
    result = fll(*command, "--policy", str(tmp_path / "policy.json"))
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--namespace", "hr"), "go with --before"),
        (("--before", "now", "--name", "people"), "--name goes with --namespace"),
        (("--before", "soon"), "is not a time"),
        # As of a variable that a shell does not know: the whole namespace is not meant.
        (("--before", "now", "--namespace", "hr", "--name", ""), "is 0 bytes long"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_options_that_do_not_go_together_are_reported(
    options: tuple[str, ...], message: str, command: tuple[str, ...]
) -> None:
    result = fll(*command, *options)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_short_grace_period_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("FLL_GRACE_MS", "60000")
    url = f"sqlite:///{tmp_path}/lineage.db"
    with closing(open_table(url)) as opened:
        opened.write([[Put(b"a", b"d:x", b"1")]])
        for options in ([], ["--dry-run"]):
            result = fll(*command, "--store", url, *options)
            assert result.exit_code == 2
            assert "FLL_GRACE_MS=60000 is below an hour" in result.output
            assert result.output.count("\n") == 1


def test_a_compaction_is_suggested_for_hbase_alone() -> None:
    assert compaction_hint("sqlite:///a.db") == ""
    assert compaction_hint("hbase://gateway:9090/lineage").endswith("major_compact 'lineage')")


@pytest.mark.slow
def test_retention_without_spark(recent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    printed("store", "copy", "--from", recent, "--to", url)
    young = json.loads(printed("retention", "--store", url, "--before", "now", "--dry-run", "--json"))
    assert (young["counts"]["runs"], young["dry_run"]) == (0, True)
    preview = printed("retention", "--store", url, "--before", "now", "--dry-run")
    assert "in the grace period: 109 runs" in preview
    assert "This cannot be undone." in preview
    done = printed("retention", "--store", url, "--before", "now")
    assert "deleted nothing" in done
    assert "Answers leave out runs before the cut-off from now on." in done
    assert "there is no store" in complaint("retention", "--store", "sqlite:///none.db", code=2)
    monkeypatch.setenv("FLL_GRACE_MS", "0")
    dry = json.loads(printed("retention", "--store", url, "--before", "now", "--dry-run", "--json"))
    assert dry["counts"] == young["waiting"]
    scratch = ("--before", "now", "--namespace", "hospital")
    assert "would delete" in printed("retention", "--store", url, *scratch, "--dry-run")
    assert "runs" in printed("retention", "--store", url, *scratch)
