"""The package's metadata: what installers and type checkers read of it."""

from __future__ import annotations

import re
from configparser import RawConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "requirements-run.lock", "requirements-spark35.lock", "requirements-docs.lock")


@pytest.fixture(scope="module")
def setup() -> RawConfigParser:
    config = RawConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


def test_installers_read_the_python_version(setup: RawConfigParser) -> None:
    assert setup["options"]["python_requires"] == ">=3.11"


def test_all_is_every_engine_and_spark(setup: RawConfigParser) -> None:
    extras = {name: set(text.split("\n")) for name, text in setup["options.extras_require"].items()}
    assert extras["all"] == extras["server"] | extras["hbase"] | extras["spark"]
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
