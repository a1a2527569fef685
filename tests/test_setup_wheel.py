"""The wheel: its only top-level package is `fll_hbase`, and it serves beside any other package `api`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
import requests

from tests.support.ports import free_port
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the repository's files, without what an earlier build left."""
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
    """An environment with the wheel, whose dependencies are those of this one, without this repository."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path of a .pth file adds modules, not the .pth files there: the editable install is not seen.
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(dependencies))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--ignore-installed", str(wheel)], check=True, capture_output=True)
    return folder


def test_the_wheel_has_one_top_level_package(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fll_hbase"}
    for source in [*ROOT.glob("fll_hbase/**/*.py"), *ROOT.glob("api/**/*.py")]:
        name = str(source.relative_to(ROOT))
        assert (f"fll_hbase/{name}" if name.startswith("api/") else name) in names
    assert "fll_hbase/api/page/index.html" in names


def test_it_serves_beside_another_package_api(environment: Path, tmp_path: Path) -> None:
    other = tmp_path / "api"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('the package api of somebody else')")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    options = ["--store", f"sqlite:///{tmp_path}/lineage.db", "--port", str(port)]
    variables = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [str(environment / "bin" / "fll"), "serve", *options]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=log, stderr=log)
    try:
        eventually(lambda: _status(f"{address}/readyz") == 200, "the server answers", seconds=60)
        document = requests.get(f"{address}/openapi.json", timeout=30).json()
        assert "/v3/namespaces" in document["paths"]
        assert "<html" in requests.get(address, timeout=30).text
    finally:
        server.terminate()
        assert server.wait(timeout=60) == 0, (tmp_path / "log").read_text()


def test_its_modules_are_those_of_the_wheel(environment: Path, tmp_path: Path) -> None:
    program = (
        "import fll_hbase.api.app as app, fll_hbase.cli as cli; print(app.__file__); print(cli.__file__)"
    )
    python = str(environment / "bin" / "python")
    ran = subprocess.run([python, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert all(line.startswith(str(environment)) for line in ran.stdout.split())


def _status(url: str) -> int:
    try:
        return requests.get(url, timeout=5).status_code
    except requests.ConnectionError:
        return 0
