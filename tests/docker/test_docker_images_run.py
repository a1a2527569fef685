"""The images are built, and run with the settings of their deployment files: they serve, and lose nothing.

`make images` runs this; it needs root, buildah, and base images that are there or can be pulled.
"""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import requests
import yaml

from fll_hbase import __version__
from tests.support.containers import Container, build_image, buildah, container
from tests.support.ports import free_port
from tests.support.repository import DOCKER
from tests.support.small_documents import document
from tests.support.waiting import eventually

pytestmark = pytest.mark.images

API, HBASE = "localhost/fll-test-api", "localhost/fll-test-hbase"
USER = 10001
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]


def rendered(release: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The settings and the pod of the manifests that the Helm chart renders for a release."""
    text = (DOCKER / "kubernetes" / f"{release}.yaml").read_text()
    manifests = {manifest["kind"]: manifest for manifest in yaml.safe_load_all(text)}
    return manifests["ConfigMap"]["data"], manifests["Deployment"]["spec"]["template"]["spec"]


@pytest.fixture(scope="module", autouse=True)
def images() -> None:
    """Both images, as `docker compose build` makes them."""
    arguments = ("--build-arg", f"VERSION={__version__}", "--build-arg", f"REVISION={COMMIT}")
    build_image(DOCKER / "api" / "Dockerfile", API, *arguments)
    build_image(DOCKER / "hbase" / "Dockerfile", HBASE, *arguments)


@pytest.fixture(scope="module")
def gateway(images: None) -> Iterator[tuple[Container, dict[str, str]]]:
    """HBase in its container, with the settings of the compose file, and its environment."""
    environment = {**SERVICES["hbase"]["environment"], "THRIFT_HOST": "127.0.0.1"}
    environment |= {name: str(free_port()) for name in ("ZK_PORT", "MASTER_PORT", "RS_BASE", "THRIFT_PORT")}
    with container(HBASE) as hbase:
        hbase.start(["hbase-local", "run"], environment)
        eventually(lambda: is_healthy(hbase, HBASE, environment), "HBase answers")
        yield hbase, environment


def is_healthy(running: Container, image: str, environment: Mapping[str, str]) -> bool:
    """Whether the health check of an image succeeds beside what runs."""
    config = json.loads(buildah("inspect", "--type", "image", image))["Docker"]["config"]
    kind, *command = config["Healthcheck"]["Test"]
    assert kind == "CMD"
    try:
        running.run(command, environment)
    except AssertionError:
        return False
    return True


@contextmanager
def serving(running: Container, environment: Mapping[str, str]) -> Iterator[str]:
    """The URL of a server in a container, once its health check succeeds."""
    running.start(["fll", "serve"], environment)
    eventually(lambda: is_healthy(running, API, environment), "the API answers")
    yield f"http://127.0.0.1:{environment['FLL_PORT']}"


def record(url: str, run: str, headers: Mapping[str, str]) -> None:
    answer = requests.post(
        f"{url}/v3/namespaces/shop/lineage", json=document(run), headers=headers, timeout=120
    )
    assert answer.status_code == 201, answer.text


def runs(url: str, headers: Mapping[str, str]) -> set[str]:
    answer = requests.get(f"{url}/v3/runs?start=0&end=now", headers=headers, timeout=120)
    assert answer.status_code == 200, answer.text
    return {run["run"] for run in answer.json()["runs"]}


def assert_loses_nothing(
    running: Container, environment: Mapping[str, str], headers: Mapping[str, str]
) -> None:
    """Record, end by the stop signal and by kill -9, and find everything again."""
    earlier = set[str]()
    with serving(running, environment) as url:
        earlier |= runs(url, headers)
        record(url, f"{len(earlier)} before the stop", headers)
        earlier |= runs(url, headers)
        assert running.end(signal.SIGTERM) == 0
    with serving(running, environment) as url:
        record(url, f"{len(earlier)} before the kill", headers)
        running.kill()
    with serving(running, environment) as url:
        later = runs(url, headers)
        assert earlier < later
        assert f"{len(earlier)} before the kill" in later
        assert running.end(signal.SIGTERM) == 0
    assert "Traceback" not in running.log
    assert "Permission denied" not in running.log


def local(environment: Mapping[str, str], **more: str) -> dict[str, str]:
    """Settings of a file, but for where the server listens and who may reach it."""
    return {**environment, "FLL_HOST": "127.0.0.1", "FLL_PORT": str(free_port()), **more}


def test_the_image_as_it_is_keeps_a_file() -> None:
    with container(API) as running:
        assert_loses_nothing(running, local({}), {})
        # Of its own user alone.
        listed = running.run(["find", "/data", "-type", "f", "-printf", "%m %U %f\n"], {})
        modes = {line.rpartition(" ")[0] for line in listed.splitlines()}
        assert modes == {f"600 {USER}"}
        assert "field_level_lineage.db.lock" in listed


def test_the_compose_file(gateway: tuple[Container, dict[str, str]]) -> None:
    hbase, variables = gateway
    store = {"FLL_STORE": f"hbase://127.0.0.1:{variables['THRIFT_PORT']}/field_level_lineage"}
    with container(API) as running:
        create = ["fll", *SERVICES["table"]["command"]]
        running.run(create, {**SERVICES["table"]["environment"], **store})
        assert_loses_nothing(running, local(SERVICES["api"]["environment"], **store), {})
        # HBase ends by its stop signal, too, and has everything when it comes back.
        assert hbase.end(signal.SIGTERM) == 0
        hbase.start(["hbase-local", "run"], variables)
        eventually(lambda: is_healthy(hbase, HBASE, variables), "HBase answers again")
        environment = local(SERVICES["api"]["environment"], **store)
        with serving(running, environment) as url:
            assert len(runs(url, {})) == 2


@pytest.mark.parametrize("image", [API, HBASE])
def test_labels_and_user_of_an_image(image: str) -> None:
    config = json.loads(buildah("inspect", "--type", "image", image))["Docker"]["config"]
    labels = {
        name.rpartition(".")[2]: text for name, text in config["Labels"].items() if "opencontainers" in name
    }
    assert (labels["version"], labels["revision"]) == (__version__, COMMIT)
    assert labels["licenses"] == "Apache-2.0"
    assert config["User"] == str(USER)


def test_the_image_prints_its_commit() -> None:
    with container(API) as running:
        assert running.run(["fll", "--version"], {}) == f"fll {__version__} ({COMMIT[:12]})"


def assert_runs_as_rendered(running: Container, settings: Mapping[str, str], pod: Mapping[str, Any]) -> None:
    """Serve with a pod's settings and command; its probes answer, and it writes to its volumes alone."""
    (api,) = pod["containers"]
    assert pod["securityContext"]["runAsUser"] == USER
    words = shlex.split("fll token create test --role admin --namespace *")
    token = running.run(words, settings).split()[-1]
    assert_loses_nothing(running, settings, {"Authorization": f"Bearer {token}"})
    running.start(["fll", *api["args"]], settings)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        path = f"http://127.0.0.1:{settings['FLL_PORT']}{api[probe]['httpGet']['path']}"
        eventually(lambda path=path: is_ok(path), f"{path} answers")  # type: ignore[misc]
    volumes = [mount["mountPath"] for mount in api["volumeMounts"]]
    others = [
        word for volume in (*volumes, "/proc", "/sys", "/dev") for word in ("-path", volume, "-prune", "-o")
    ]
    # The user of the image may not read some folders, so it cannot have written there.
    unreadable = ["-type", "d", "!", "-readable", "-prune", "-o"]
    find = ["find", "/", *others, *unreadable, "-user", str(USER), "-type", "f", "-print"]
    assert running.run(find, settings) == ""
    assert running.end(signal.SIGTERM) == 0


def is_ok(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).status_code == 200
    except requests.ConnectionError:
        return False


def test_kubernetes_over_hbase(gateway: tuple[Container, dict[str, str]]) -> None:
    _, variables = gateway
    settings, pod = rendered("lineage")
    store = {"FLL_STORE": f"hbase://127.0.0.1:{variables['THRIFT_PORT']}/field_level_lineage"}
    with container(API) as running:
        environment = local(settings, **store)
        running.run(["fll", "table", "create", "--if-missing"], environment)
        assert_runs_as_rendered(running, environment, pod)


def test_kubernetes_over_sqlite() -> None:
    settings, pod = rendered("lineage-sqlite")
    with container(API) as running:
        assert_runs_as_rendered(running, local(settings), pod)
