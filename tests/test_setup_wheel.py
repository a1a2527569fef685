"""The wheel: its only top-level package is `fll_hbase`, and it serves beside any other package `api`.

`make dist` checks a wheel that it has built, installed into an empty environment. Otherwise the tests build
one, whose dependencies are those of this environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
import requests

from fll_hbase import __version__
from tests.support.ports import free_port
from tests.support.small_documents import document
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[1]
BUILT = os.environ.get("FLL_TEST_WHEEL", "")
"""A wheel that exists."""

HOME = "https://github.com/fll-hbase/fll_hbase"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the repository's files, without what an earlier build left."""
    if BUILT:
        return Path(BUILT).resolve()
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    sources = [name for name in listed.stdout.split("\0") if name.startswith(("api/", "fll_hbase/", "setup"))]
    for name in [*sources, "pyproject.toml", "README.md", "LICENSE"]:
        target = folder / "sources" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(folder / "sources")], check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, without this repository."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    if BUILT:
        locked = ["--no-deps", "--require-hashes", "--requirement", str(ROOT / "requirements-run.lock")]
        subprocess.run([*pip, *locked], check=True, capture_output=True)
    else:
        (packages,) = folder.glob("lib/python*/site-packages")
        # A path of a .pth file adds modules, not the .pth files there: the editable install is not seen.
        dependencies = [path for path in sys.path if path.endswith("site-packages")]
        (packages / "dependencies.pth").write_text("\n".join(dependencies))
    subprocess.run([*pip, "--no-deps", "--ignore-installed", str(wheel)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """The metadata that an index shows."""
    name = f"fll_hbase-{__version__}.dist-info/METADATA"
    return Parser().parsestr(ZipFile(wheel).read(name).decode())


def run_there(environment: Path, folder: Path, *command: str) -> str:
    """Return what a program of the environment prints, without paths of this repository."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    program, *arguments = command
    ran = [str(environment / "bin" / program), *arguments]
    return subprocess.run(
        ran, cwd=folder, env=variables, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@contextmanager
def serving(environment: Path, folder: Path) -> Iterator[str]:
    """The URL of a server of the wheel, with another package `api` in its way."""
    other = folder / "api"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('the package api of somebody else')")
    port = free_port()
    options = ["--store", f"sqlite:///{folder}/lineage.db", "--port", str(port)]
    variables = {"PYTHONPATH": str(folder), "PATH": os.environ["PATH"], "HOME": str(folder)}
    command = [str(environment / "bin" / "fll"), "serve", *options]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _status(f"{address}/readyz") == 200, "the server answers")
        yield address
    finally:
        server.terminate()
        code = server.wait(timeout=60)
    assert code == 0, (folder / "log").read_text()


def test_the_wheel_has_one_top_level_package(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fll_hbase"}
    for source in [*ROOT.glob("fll_hbase/**/*.py"), *ROOT.glob("api/**/*.py")]:
        name = str(source.relative_to(ROOT))
        assert (f"fll_hbase/{name}" if name.startswith("api/") else name) in names
    assert "fll_hbase/api/page/index.html" in names


def test_it_serves_beside_another_package_api(environment: Path, tmp_path: Path) -> None:
    with serving(environment, tmp_path) as address:
        described = requests.get(f"{address}/openapi.json", timeout=30).json()
        assert "/v3/namespaces" in described["paths"]
        assert described["info"]["version"] == __version__
        page = requests.get(address, timeout=30).text
        assert "<html" in page
        (script,) = re.findall(r'src="(?:\./)?([^"]+\.js)"', page)
        assert _status(f"{address}/{script}") == 200


def test_a_document_is_recorded_and_asked(environment: Path, tmp_path: Path) -> None:
    with serving(environment, tmp_path) as address:
        url = f"{address}/v3/namespaces/shop/lineage"
        assert requests.post(url, json=document("first"), timeout=60).status_code == 201
        words = ["runs", "--start", "0", "--server", address, "--format", "csv"]
        listed = run_there(environment, tmp_path, "fll", *words)
    assert "first" in listed


def test_its_modules_are_those_of_the_wheel(environment: Path, tmp_path: Path) -> None:
    program = (
        "import fll_hbase.api.app as app, fll_hbase.cli as cli; print(app.__file__); print(cli.__file__)"
    )
    printed = run_there(environment, tmp_path, "python", "-c", program)
    assert all(line.startswith(str(environment)) for line in printed.split())


def test_it_prints_its_version_and_the_commit_of_its_build(
    wheel: Path, environment: Path, tmp_path: Path
) -> None:
    printed = run_there(environment, tmp_path, "fll", "--version")
    if BUILT:
        commit = ZipFile(wheel).read("fll_hbase/commit").decode()
        assert printed == f"fll {__version__} ({commit[:12]})\n"
    else:
        assert printed == f"fll {__version__}\n"


def test_its_metadata_has_the_version_and_links(metadata: Message) -> None:
    assert metadata["Version"] == __version__
    links = dict(link.split(", ", 1) for link in metadata.get_all("Project-URL", []))
    assert set(links) >= {"Documentation", "Changelog", "Issues", "Source"}
    assert all(link.startswith(HOME) for link in links.values())


def test_links_of_its_description_are_absolute(metadata: Message) -> None:
    description = str(metadata.get_payload())
    assert metadata["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"\]\(([^)\s]+)\)", description)
    assert len(targets) == len(re.findall(r"\]\(([^)\s]+)\)", readme)) > 20
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", description)
    assert pictures
    assert all(picture.startswith(f"{HOME}/raw/v{__version__}/docs/") for picture in pictures)
    prefix = f"{HOME}/blob/v{__version__}/"
    pages = [target.removeprefix(prefix) for target in targets if target.startswith(prefix)]
    assert "CHANGELOG.md" in pages
    assert [page for page in pages if not (ROOT / page.partition("#")[0]).exists()] == []


def _status(url: str) -> int:
    try:
        return requests.get(url, timeout=5).status_code
    except (requests.ConnectionError, requests.Timeout):
        return 0
