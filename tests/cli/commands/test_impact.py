"""`fll impact`: changes of files and fields in every format, --fail-on, and wrong options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fll_hbase.cli import main
from fll_hbase.queries.impact.markdown import MARKER

OLD = "INSERT INTO stage (id, email) SELECT id, lower(email) FROM raw WHERE status = 'a'"
RUN = ("--namespace", "shop", "--application", "etl", "--program", "stage")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with one run of a SQL script."""
    url = f"sqlite:///{tmp_path}/store.db"
    script = tmp_path / "old.sql"
    script.write_text(OLD)
    result = CliRunner().invoke(main, ["record", str(script), *RUN, "--store", url])
    assert result.exit_code == 0, result.output
    return url


def impact(store: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["impact", *arguments, "--store", store])


def changed(tmp_path: Path, sql: str) -> str:
    script = tmp_path / "new.sql"
    script.write_text(sql)
    return str(script)


def test_formats_of_a_script(store: str, tmp_path: Path) -> None:
    arguments = ("--sql", changed(tmp_path, OLD.replace("email)", "mail)", 1)), *RUN, "--window", "now-90d")
    (change,) = json.loads(impact(store, *arguments, "--json").stdout)["changes"]
    assert (change["kind"], change["to"]) == ("renamed", "mail")
    table = impact(store, *arguments).stdout
    assert "renamed: 1" in table
    assert "shop/stage.email" in table
    assert impact(store, *arguments, "--format", "markdown").stdout.startswith(MARKER)
    header, row = impact(store, *arguments, "--format", "csv").stdout.splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["to"] == "mail"


@pytest.mark.parametrize(
    ("fail_on", "code"), [("removed", 1), ("rows,removed", 1), ("retyped, renamed", 0), ("added", 0)]
)
def test_fail_on(store: str, fail_on: str, code: int) -> None:
    result = impact(store, "shop/stage.email", "--drop", "--fail-on", fail_on)
    assert result.exit_code == code, result.output
    assert "removed: 1" in result.stdout


@pytest.mark.parametrize("change", [("--rename", "mail"), ("--type", "text")])
def test_other_changes_of_a_field(store: str, change: tuple[str, str]) -> None:
    result = impact(store, "shop/stage.email", *change)
    assert (result.exit_code, change[1] in result.stdout) == (0, True), result.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "Give one change"),
        (("shop/stage.email",), "Give one of --drop"),
        (("shop/stage.email", "--drop", "--rename", "x"), "Give one of --drop"),
        (("--drop", "--dbt", "target"), "need a FIELD"),
        (("--dbt", "target"), "--namespace"),
        (("--dbt", "target", "--sql", "x.sql"), "No such file"),
        (("shop/stage.email", "--drop", "--dialect", "tsql"), "--dialect: not for this change"),
        (("--dbt", "target", "--namespace", "n", "--program", "p"), "--program: not for this change"),
        (("shop/stage.email", "--drop", "--fail-on", "remove"), "Did you mean 'removed'"),
    ],
)
def test_wrong_options(store: str, arguments: tuple[str, ...], text: str) -> None:
    result = impact(store, *arguments)
    assert result.exit_code == 2
    assert text in result.stderr


def test_a_folder_without_a_manifest(store: str, tmp_path: Path) -> None:
    result = impact(store, "--dbt", str(tmp_path), "--namespace", "shop")
    assert (result.exit_code, "manifest.json" in result.stderr) == (1, True)


def test_a_field_that_was_never_recorded(store: str) -> None:
    result = impact(store, "shop/stage.nope", "--drop")
    assert (result.exit_code, "nope" in result.stderr) == (1, True)
