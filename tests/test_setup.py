"""The package's metadata: what installers and type checkers read of it."""

from __future__ import annotations

import re
from configparser import RawConfigParser
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from fll_hbase import __version__

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "requirements-run.lock", "requirements-spark35.lock", "requirements-docs.lock")


@pytest.fixture(scope="module")
def setup() -> RawConfigParser:
    config = RawConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


def test_installers_read_the_python_version(setup: RawConfigParser) -> None:
    assert setup["options"]["python_requires"] == ">=3.11"


def test_the_version_is_in_one_place_and_all_copies_agree(setup: RawConfigParser) -> None:
    """Files that no build reads repeat it."""
    assert "version" not in setup["metadata"]
    chart = yaml.safe_load((ROOT / "docker/helm/fll-hbase/Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__
    assert citation()["version"] == __version__
    (release, *_) = re.findall(r"^## (\S+) \(([\d-]+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert release == (__version__, citation()["date-released"])


def test_each_release_has_a_line_on_the_row_format() -> None:
    _, *sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert sections
    assert [section.split("\n")[0] for section in sections if section.count("**Row format:**") != 1] == []


def citation() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    return loaded


def test_the_citation_has_what_its_format_requires(setup: RawConfigParser) -> None:
    cited = citation()
    assert cited["cff-version"] == "1.2.0"
    assert all(cited[key] for key in ("message", "title", "authors"))
    assert all(
        {"name"} <= set(author) or {"family-names", "given-names"} <= set(author)
        for author in cited["authors"]
    )
    assert date.fromisoformat(cited["date-released"])
    assert cited["license"] == setup["metadata"]["license_expression"]
    assert cited["repository-code"] == setup["metadata"]["url"]


def test_project_urls(setup: RawConfigParser) -> None:
    urls = dict(line.split(" = ") for line in setup["metadata"]["project_urls"].strip().splitlines())
    assert set(urls) == {"Documentation", "Changelog", "Issues", "Source"}
    home = setup["metadata"]["url"]
    assert all(url.startswith(home) for url in urls.values())
    paths = [re.sub(rf"^{home}/(?:tree|blob)/main/", "", url) for url in urls.values() if "/main/" in url]
    assert len(paths) == 2
    assert all((ROOT / path).exists() for path in paths)


class TestForms:
    """Forms of issues are those that GitHub can show."""

    FOLDER = ROOT / ".github" / "ISSUE_TEMPLATE"
    INPUTS = ("input", "textarea", "dropdown")

    @pytest.mark.parametrize("name", ["bug", "question", "wrong-lineage"])
    def test_a_form(self, name: str) -> None:
        form = yaml.safe_load((self.FOLDER / f"{name}.yml").read_text())
        assert set(form) == {"name", "description", "labels", "body"}
        ids = [part["id"] for part in form["body"]]
        assert len(set(ids)) == len(ids) >= 3
        for part in form["body"]:
            assert part["type"] in self.INPUTS
            assert part["attributes"]["label"]
            assert ("options" in part["attributes"]) == (part["type"] == "dropdown")
            assert set(part) <= {"type", "id", "attributes", "validations"}
        assert "version" in ids
        assert any(part.get("validations", {}).get("required") for part in form["body"])

    def test_a_weakness_is_reported_elsewhere(self) -> None:
        config = yaml.safe_load((self.FOLDER / "config.yml").read_text())
        (link,) = config["contact_links"]
        assert "/security/" in link["url"]


def test_all_is_every_engine_and_front_and_spark(setup: RawConfigParser) -> None:
    extras = {name: set(text.split("\n")) for name, text in setup["options.extras_require"].items()}
    assert extras["all"] == extras["server"] | extras["hbase"] | extras["mcp"] | extras["spark"]
    assert extras["worker"] <= extras["all"]


def folder(package: str) -> Path:
    """Return the folder of a package of the wheel; that of `fll_hbase.api` is `api`."""
    return ROOT / re.sub(r"^fll_hbase\.api\b", "api", package).replace(".", "/")


def test_packages_are_typed_and_licensed(setup: RawConfigParser) -> None:
    for package in ("fll_hbase", "fll_hbase.api"):
        assert (folder(package) / "py.typed").exists()
        assert "py.typed" in setup["options.package_data"][package]
    assert setup["metadata"]["license_expression"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_package_data_exists(setup: RawConfigParser) -> None:
    for package, patterns in setup["options.package_data"].items():
        for pattern in patterns.split():
            assert list(folder(package).glob(pattern)), (package, pattern)


@pytest.mark.parametrize("name", LOCKS)
def test_locks_name_no_index(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    assert not [line for line in lines if re.search(r"https?://|^\s*--(index|extra-index|find-links)", line)]


@pytest.mark.parametrize("name", LOCKS)
def test_locks_pin_by_hash(name: str) -> None:
    text = (ROOT / name).read_text()
    pins = re.findall(r"^[\w.-]+==\S+ \\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)) > 20


def test_locks_are_installed_as_they_are() -> None:
    """A resolver may choose a newer release of a locked package, whose hash the lock lacks."""
    files = [(ROOT / name).read_text() for name in ("Makefile", "docker/api/Dockerfile")]
    installs = [
        line for text in files for line in text.splitlines() if re.search(r"pip install.*\.lock", line)
    ]
    assert len(installs) == len(LOCKS) + 1
    for line in installs:
        assert re.search(r"\$\(LOCKED\)|--no-deps --require-hashes", line), line


def test_documents_name_no_index_package() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "fll_hbase").rglob("*.py")]
    assert not [page for page in pages if re.search(r"pip install '?fll", page.read_text())]
