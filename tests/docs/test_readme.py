"""Documented settings, routes, commands, errors and examples are those of the code."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from api import create_app
from api.command import main
from fll_hbase.runtime.config import PREFIX, Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.tour import shown

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
TERMINAL = (ROOT / "docs" / "ask" / "command-line.md").read_text()
CONFIGURATION = (ROOT / "docs" / "reference" / "configuration.md").read_text()
ROUTES = (ROOT / "docs" / "reference" / "routes.md").read_text()


def test_every_setting_is_documented_with_its_default() -> None:
    documented = dict(re.findall(r"^\| `(FLL_\w+)` \|(?: `([^`]+)`)? \|", CONFIGURATION, re.MULTILINE))
    assert documented == {
        PREFIX + field.name.upper(): str(getattr(Settings(), field.name)) for field in fields(Settings)
    }


def test_every_route_is_documented() -> None:
    app = create_app(LineageStore(open_table("sqlite:///:memory:")))
    for path in app.extensions["fll-api"].document()["paths"]:
        assert f" {path}`" in ROUTES, path


def test_every_command_is_documented() -> None:
    for name in main.all_commands():
        assert f"`fll {name}" in TERMINAL, name


def test_every_document_is_linked() -> None:
    linked = set(re.findall(r"\]\((docs/[^)]+|CHANGELOG\.md)\)", README))
    assert all((ROOT / path).exists() for path in linked)
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if "/decisions/0" not in page} == set(
        re.findall(r"\S+\w\.md$", navigation, re.M)
    )


def test_every_answer_shown_is_compared_on_another_page() -> None:
    compared = {(item.source, item.output) for item in shown()}
    pages = [README, TERMINAL, (ROOT / "docs" / "ask" / "index.md").read_text()]
    blocks = [
        block for page in pages for block in re.findall(r"```console\n\$ (fll .*?)```", page, re.DOTALL)
    ]
    answers = [tuple(block.rstrip("\n").split("\n", 1)) for block in blocks if "\n" in block.rstrip("\n")]
    assert len(answers) == 4
    assert [answer for answer in answers if answer not in compared] == []


def test_the_document_shown_is_recorded_as_shown() -> None:
    document, answer = re.search(r"-d '\n(.*?)'\n(\{.*?\})\n```", README, re.DOTALL).groups()
    document = document.replace("'$(date +%s000)'", "1795824000000")
    client = create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()
    response = client.post("/v3/namespaces/ns1/lineage", data=document, content_type="application/json")
    assert response.status_code == 201
    assert response.get_json() == json.loads(answer)


def test_the_python_shown_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    store = f"sqlite:///{tmp_path}/lineage.db"
    exec(compile(code.replace("http://127.0.0.1:8080", store), "README.md", "exec"), {})
    result = CliRunner().invoke(main, ["runs", "crm", "people", "--store", store])
    assert "nightly" in result.output


def test_every_error_has_a_status() -> None:
    from fll_hbase.runtime import errors

    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    leaves = {kind for kind in kinds if issubclass(kind, errors.LineageError) and not kind.__subclasses__()}
    assert leaves
    assert [kind for kind in leaves if kind.slug == errors.LineageError.slug] == []
    assert [kind for kind in leaves if not 400 <= kind.status <= 599] == []
