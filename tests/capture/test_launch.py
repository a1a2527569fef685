"""The hook reaches Python processes, and leaves no other trace in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fll_hbase.capture import launch
from tests.support.commands import FLL

SCRIPT = """
import json, os, sys
names = [type(finder).__module__ for finder in sys.meta_path]
print(json.dumps({
    "name": __name__, "argv": sys.argv[1:], "file": __file__, "path": sys.path,
    "pythonpath": os.environ.get("PYTHONPATH"), "hook": "fll_hbase.capture.hook" in names,
    "spark": "pyspark" in sys.modules, "customized": getattr(sys, "customized", False),
}))
sys.exit(5)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(SCRIPT)
    return path


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300, check=False
    )


def captured(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(FLL, "capture", "run", "--server", "http://lineage", script, *arguments, **environment)


def test_a_program_is_as_without_capture(script: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys\nsys.customized = True\n")
    environment = {"PYTHONPATH": str(tmp_path / "site")}
    with_capture = captured(script, "--server", "a b", "-h", **environment)
    without = run(sys.executable, script, "--server", "a b", "-h", **environment)
    assert (with_capture.returncode, with_capture.stderr) == (without.returncode, without.stderr) == (5, "")
    shown, expected = json.loads(with_capture.stdout), json.loads(without.stdout)
    assert expected["customized"]
    assert (shown.pop("hook"), expected.pop("hook")) == (True, False)
    assert shown == expected
    assert shown["spark"] is False


@pytest.mark.slow
def test_a_python_without_this_package_runs_the_job(script: Path) -> None:
    python = str(Path(sys.base_prefix, "bin", "python3"))
    done = run(FLL, "capture", "run", "--server", "http://lineage", python, script, PATH="/usr/bin:/bin")
    assert done.returncode == 5
    assert done.stderr.startswith("capture is off: ")
    assert json.loads(done.stdout)["hook"] is False


@pytest.mark.slow
def test_a_program_that_cannot_be_run_is_one_line() -> None:
    done = run(FLL, "capture", "run", "--server", "http://lineage", "no-such-program")
    assert done.returncode == 2
    assert done.stderr == "fll: no-such-program cannot be run: No such file or directory\n"


@pytest.mark.slow
def test_a_job_may_have_a_module_of_secrets(tmp_path: Path) -> None:
    """It hides that of Python, for capture too, which is imported by the first session."""
    (tmp_path / "secrets.py").write_text("PASSWORD = 'sesame'\n")
    job = tmp_path / "job.py"
    job.write_text(
        "import secrets\nfrom fll_hbase.capture import install\nprint(secrets.PASSWORD, install(None))\n"
    )
    done = captured(job)
    assert (done.returncode, done.stdout) == (0, "sesame False\n"), done.stderr


@pytest.mark.slow
def test_a_job_goes_on_whatever_its_modules_break(tmp_path: Path) -> None:
    """A session of a module like that of PySpark, beside one that capture cannot work with."""
    (tmp_path / "uuid.py").write_text("")
    (tmp_path / "pyspark" / "sql").mkdir(parents=True)
    (tmp_path / "pyspark" / "__init__.py").write_text("")
    (tmp_path / "pyspark" / "sql" / "__init__.py").write_text("")
    (tmp_path / "pyspark" / "sql" / "session.py").write_text("class SparkSession:\n    pass\n")
    job = tmp_path / "job.py"
    job.write_text("from pyspark.sql.session import SparkSession\nSparkSession()\nprint('done')\n")
    done = captured(job)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.startswith("capture is off: "), done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_spool_of_another_user_costs_capture_and_not_the_job(script: Path, tmp_path: Path) -> None:
    """Root may read everything, unless it gives that up."""
    spool = tmp_path / "spool"
    spool.mkdir(mode=0)
    powers = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
    command = [FLL, "capture", "run", "--server", "http://lineage", "--spool", str(spool), str(script)]
    done = run(*(powers if os.geteuid() == 0 else ()), *command)
    assert (done.returncode, done.stderr) == (5, "")
    assert json.loads(done.stdout)["hook"] is True


@pytest.mark.slow
def test_a_server_is_needed(script: Path) -> None:
    done = run(FLL, "capture", "run", script, FLL_CAPTURE_URL="", FLL_SERVER="")
    assert done.returncode == 2
    assert "no server: give --server, or set FLL_CAPTURE_URL" in done.stderr


@pytest.mark.slow
def test_the_hook_of_an_environment_is_one_file(tmp_path: Path) -> None:
    """In an environment of its own, where this package is by a path, as an editable installation is."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "packages.pth").write_text("\n".join(path for path in sys.path if path))
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)

    def hook(action: str) -> str:
        done = run(python, "-c", "from api.command import main; main()", "capture", "hook", action)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert hook("status").startswith("not installed: there is no ")
    assert hook("install") == f"installed: {site / launch.PTH}\n"
    assert hook("status") == f"installed: {site / launch.PTH}\n"
    assert json.loads(run(python, script).stdout)["hook"] is True
    (site / "packages.pth").unlink()
    without_package = run(python, script)
    assert (without_package.returncode, without_package.stderr) == (5, "")
    (site / "packages.pth").write_text("\n".join(path for path in sys.path if path))
    assert hook("remove") == "removed\n"
    assert hook("remove") == "there was no hook\n"
    assert json.loads(run(python, script).stdout)["hook"] is False
