"""The target folder of a dbt project is recorded with one run for each model, to a store and to a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import complaint, fll, printed
from tests.support.dbt_artifacts import CASES, target_folder

CASE = next(case for case in CASES if (case.parent.name, case.name) == ("shop", "dbt_1_7"))


@pytest.fixture
def dbt_target(tmp_path: Path) -> str:
    """The folder that dbt wrote, as an argument."""
    folder = tmp_path / "target"
    folder.mkdir()
    return str(target_folder(CASE, folder))


@pytest.mark.slow
def test_every_model_is_a_run_and_recording_again_is_safe(
    target: tuple[str, str], dbt_target: str, name: str
) -> None:
    command = ("record", "--dbt", dbt_target, "--namespace", name, *target)
    result = fll(*command)
    assert result.exit_code == 0, result.output
    assert result.stdout == "1 recorded, 0 replaced, 0 repeated, 0 refused\n"
    assert fll(*command).stdout == "0 recorded, 0 replaced, 1 repeated, 0 refused\n"
    results = json.loads(printed("find", "customers", *target, "--json"))["results"]
    assert results


def test_datasets_have_the_namespace_given(target: tuple[str, str], dbt_target: str, name: str) -> None:
    namespace = f"duckdb://{name}"
    result = fll(
        *("record", "--dbt", dbt_target, "--namespace", name, "--dataset-namespace", namespace, *target),
        # The runs of these files may be recorded already, in the namespace of another test.
        "--replace",
    )
    assert result.exit_code == 0, result.output
    assert "datasetNamespace" not in result.stderr
    results = json.loads(printed("find", "customers", *target, "--json"))["results"]
    assert namespace in {entry["namespace"] for entry in results}


def test_the_namespace_is_required(target: tuple[str, str], dbt_target: str) -> None:
    result = fll("record", "--dbt", dbt_target, *target)
    assert (result.exit_code, result.stdout) == (1, "0 recorded, 0 replaced, 0 repeated, 1 refused\n")
    assert "namespace: missing" in result.stderr


def test_a_folder_without_a_manifest_is_refused(target: tuple[str, str], tmp_path: Path) -> None:
    result = fll("record", "--dbt", str(tmp_path), "--namespace", "ns", *target)
    assert (result.exit_code, result.stdout) == (1, "0 recorded, 0 replaced, 0 repeated, 1 refused\n")
    assert "manifest.json" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("/dev/null", "--dbt", "target"), "Give FILE or --dbt, not both"),
        (
            ("--sql", "--dbt", "target", "--namespace", "n", "--application", "a", "--program", "p"),
            "not both",
        ),
        ((), "Missing argument 'FILE'"),
        (("/dev/null", "--dataset-namespace", "postgres://h:1"), "--dataset-namespace needs --dbt"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], message: str) -> None:
    assert message in complaint("record", *options, code=2)
