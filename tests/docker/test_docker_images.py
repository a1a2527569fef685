"""Files that the images copy, run and name exist, and their commands also run outside."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from fll_hbase.runtime.config import PREFIX, Settings
from fll_hbase.tables import hbase_url
from tests.support.ports import free_port
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILES = sorted((ROOT / "docker").glob("*/Dockerfile"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PROGRAMS = {
    "fll": ROOT / "fll_hbase" / "cli",
    "hbase-local": ROOT / "docker" / "hbase" / "bin" / "hbase-local",
}
PINNED = ("requirements.lock", "requirements-run.lock")

every_image = pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)


def instructions(path: Path, name: str) -> list[str]:
    """Return the arguments of an instruction, continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", path.read_text())
    return re.findall(rf"^{name} +(.*)$", text, re.MULTILINE)


def ignored(path: str) -> bool:
    """Whether `.dockerignore`, in which the last line that fits decides, keeps a file from the engine."""
    out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if (
            line
            and not line.startswith("#")
            and (pattern == "*" or path == pattern or path.startswith(f"{pattern}/"))
        ):
            out = not line.startswith("!")
    return out


def test_there_are_two() -> None:
    assert [path.parent.name for path in DOCKERFILES] == ["api", "hbase"]


@every_image
def test_what_is_copied_is_in_the_repository_and_reaches_the_engine(path: Path) -> None:
    sources = [
        source
        for line in instructions(path, "COPY")
        if "--from=" not in line
        for source in [word for word in shlex.split(line) if not word.startswith("--")][:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not ignored(source.rstrip("/")), source


@every_image
def test_it_runs_as_somebody_without_rights(path: Path) -> None:
    last_stage = path.read_text().rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\S+)$", last_stage, re.MULTILINE)
    # A number, or Kubernetes cannot see that it is not root.
    assert f"--uid {user} " in last_stage


@every_image
def test_its_labels_are_those_of_the_oci(path: Path) -> None:
    last_stage = path.read_text().rpartition("\nFROM ")[2]
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)=("[^"]+"|\S+)', last_stage))
    assert set(labels) == {"title", "description", "version", "revision", "source", "licenses"}
    assert (labels["version"], labels["revision"]) == ("$VERSION", "$REVISION")
    assert {"VERSION=", "REVISION="} <= set(re.findall(r"^ARG (\S+)$", last_stage, re.MULTILINE))
    setup = configparser.RawConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert labels["source"].strip('"') == setup["metadata"]["url"]
    assert labels["licenses"].strip('"') == setup["metadata"]["license_expression"]


@every_image
def test_it_is_built_apart_and_starts_what_there_is(path: Path) -> None:
    assert len(instructions(path, "FROM")) == 2, "one stage builds, another runs"
    (entry,) = instructions(path, "ENTRYPOINT")
    program = Path(json.loads(entry)[0]).name
    assert PROGRAMS[program].exists()
    assert instructions(path, "HEALTHCHECK")


def test_the_image_of_the_api_sets_what_there_is_to_set() -> None:
    environment = " ".join(instructions(ROOT / "docker" / "api" / "Dockerfile", "ENV"))
    names = re.findall(rf"{PREFIX}(\w+)=", environment)
    assert set(names) == {"HOST", "PORT", "STORE"}
    assert {name.lower() for name in names} <= set(Settings.__dataclass_fields__)


def test_it_installs_what_was_tested() -> None:
    tested, run = ({line.split(" ")[0] for line in pins(name)} for name in PINNED)
    assert run < tested
    assert not {Requirement(pin).name for pin in run} & {"pytest", "mypy", "ruff", "hypothesis"}


def pins(name: str) -> list[str]:
    return [
        line for line in (ROOT / name).read_text().splitlines() if "==" in line and not line.startswith("#")
    ]


class TestCompose:
    """The file that brings all of it up."""

    def test_every_image_has_its_file(self) -> None:
        for service in SERVICES.values():
            build = service["build"]
            context = (ROOT / "docker" / build["context"]).resolve()
            assert (context / build["dockerfile"]) in DOCKERFILES

    def test_nothing_is_published_but_on_this_machine(self) -> None:
        ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
        assert ports == ["127.0.0.1:8080:8080"]

    def test_what_is_waited_for_is_there(self) -> None:
        for service in SERVICES.values():
            for name, wait in service.get("depends_on", {}).items():
                dockerfile = (
                    ROOT
                    / "docker"
                    / SERVICES[name]["build"]["context"]
                    / SERVICES[name]["build"]["dockerfile"]
                )
                assert wait["condition"] != "service_healthy" or instructions(dockerfile, "HEALTHCHECK")

    def test_volumes_are_declared_and_mounted_where_the_image_has_them(self) -> None:
        (volume,) = SERVICES["hbase"]["volumes"]
        name, folder = volume.split(":")
        assert name in COMPOSE["volumes"]
        assert instructions(ROOT / "docker" / "hbase" / "Dockerfile", "VOLUME") == [folder]

    def test_the_store_is_the_table_of_that_hbase(self) -> None:
        for name in ("table", "api"):
            target = hbase_url.parse_url(SERVICES[name]["environment"]["FLL_STORE"])
            assert [gateway.host for gateway in target.gateways] == ["hbase"]

    def test_nobody_gets_more_rights(self) -> None:
        for service in SERVICES.values():
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert service["cap_drop"] == ["ALL"]


@contextmanager
def started(folder: Path) -> Iterator[dict[str, str]]:
    """The command of the API image, run here on loopback only, with its environment."""
    environment = {
        **os.environ,
        "FLL_HOST": "127.0.0.1",
        "FLL_PORT": str(free_port()),
        "FLL_STORE": f"sqlite:///{folder}/field_level_lineage.db",
    }
    path = ROOT / "docker" / "api" / "Dockerfile"
    (entry,), (command,) = instructions(path, "ENTRYPOINT"), instructions(path, "CMD")
    program, *arguments = [*json.loads(entry), *json.loads(command)]
    process = subprocess.Popen([Path(sys.executable).with_name(program), *arguments], env=environment)
    try:
        yield environment
    finally:
        process.terminate()
        process.wait(120)


@pytest.mark.slow
def test_the_health_check_of_the_api_runs_outside(tmp_path: Path) -> None:
    (line,) = instructions(ROOT / "docker" / "api" / "Dockerfile", "HEALTHCHECK")
    program, *arguments = json.loads(line.partition("CMD ")[2])
    assert program == "python"
    check = [sys.executable, *arguments]
    with started(tmp_path) as environment:
        eventually(
            lambda: not subprocess.run(check, env=environment, capture_output=True, check=False).returncode,
            "it is healthy",
        )
    assert subprocess.run(check, env=environment, capture_output=True, check=False).returncode == 1
