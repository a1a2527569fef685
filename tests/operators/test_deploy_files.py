"""Dashboards, alerts, manifests and units name what there is: metrics, labels, routes, settings and ports."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from typing import Any

import kubernetes_validate
import pytest
import requests
import yaml

from api import create_app
from api.http import event_server as http_server
from api.security.authentication import require_authentication
from fll_hbase.model.access import Grant, Role
from fll_hbase.runtime.config import PREFIX, Settings, from_environment
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import hbase_url, open_table
from tests.operators.conftest import StartServer
from tests.operators.scrapes import Scrape, scrape
from tests.support.declared_metrics import declared_metrics
from tests.support.repository import DOCKER, ROOT
from tests.support.server_process import Server
from tests.support.small_documents import document

DASHBOARD = json.loads((DOCKER / "grafana" / "lineage.json").read_text())
ALERTS = yaml.safe_load((DOCKER / "prometheus" / "alerts.yml").read_text())
SCRAPE = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())
MONITORING = yaml.safe_load((DOCKER / "compose.monitoring.yaml").read_text())


def rendered(release: str) -> dict[str, Any]:
    """The manifests that the chart renders for a release, by kind; the Service of its pods as `Pods`."""
    manifests = list(yaml.safe_load_all((DOCKER / "kubernetes" / f"{release}.yaml").read_text()))
    kinds = {
        "Pods" if manifest["metadata"]["name"] == f"{release}-pods" else manifest["kind"]: manifest
        for manifest in manifests
    }
    assert len(kinds) == len(manifests)
    assert {manifest["metadata"]["name"] for kind, manifest in kinds.items() if kind != "Pods"} == {release}
    return kinds


RELEASES = {name: rendered(name) for name in ("lineage", "lineage-sqlite")}
"""Over HBase and over SQLite."""

every_release = pytest.mark.parametrize("manifests", RELEASES.values(), ids=RELEASES)
SCRAPE_OF_PODS = yaml.safe_load((DOCKER / "prometheus" / "kubernetes.yml").read_text())
KUBERNETES_VERSIONS = ("1.29", "1.34")
"""Versions whose schemas the manifests are checked against, as docs/operate/deploy.md says."""
SETTINGS = {PREFIX + field.name.upper() for field in fields(Settings)}
SERVER_ARGUMENTS = ("FLL_STORE", "FLL_HOST", "FLL_PORT", "FLL_WORKERS")
"""Settings that a server under test gets as arguments."""

LABELS_OF_PROMETHEUS = {"instance", "job", "le"}


def expressions() -> Iterator[str]:
    """Every expression of the dashboard and of the alerts."""
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]
    for group in ALERTS["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrape]:
    """The metrics of a server in which everything has happened at least once."""
    folder = tmp_path_factory.mktemp("metrics")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLL_AUDIT_LOG", str(folder / "audit.log"))
        with Server(folder / "store.db", workers=1) as server:
            url = f"http://127.0.0.1:{server.port}"
            documents = f"{url}/v3/namespaces/shop/lineage"
            assert requests.post(documents, json=document(), timeout=120).status_code == 201
            assert requests.post(documents, json={}, timeout=120).status_code == 400
            question = f"{url}/v3/namespaces/shop/endpoints/invoices/fields/lineage?start=0&end=now"
            assert requests.get(question, timeout=120).status_code == 200
            assert requests.get(url, headers={"Host": "evil.example"}, timeout=120).status_code == 421
            yield scrape(server.port)


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_the_nightly_jobs_are_those_of_the_schemas_of_kubernetes(version: str) -> None:
    """`strict` refuses members that Kubernetes would ignore, such as mistyped ones."""
    for manifest in yaml.safe_load_all((ROOT / "examples/kubernetes/lineage-nightly.yaml").read_text()):
        kubernetes_validate.validate(manifest, version, strict=True)


@every_release
class TestKubernetesSettings:
    """The manifests start with their own settings, and beside each other."""

    ADDRESS = "10.1.2.3:8080"
    SECRET = "a-secret-of-thirty-two-characters"

    @pytest.fixture
    def started(self, start_server: StartServer, manifests: dict[str, Any]) -> Server:
        """A server with the variables of the ConfigMap, but for its store and where it listens."""
        variables = manifests["ConfigMap"]["data"]
        require_authentication(from_environment(variables))
        others = {name: text for name, text in variables.items() if name not in SERVER_ARGUMENTS}
        assert set(variables) - set(others) == set(SERVER_ARGUMENTS)
        return start_server(FLL_METRICS_TOKEN=self.SECRET, **others)

    def test_probes_are_answered(self, started: Server, manifests: dict[str, Any]) -> None:
        (container,) = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
        # The kubelet asks by the address of the pod.
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert self._status(started, container[probe]["httpGet"]["path"], self.ADDRESS) == 200

    def test_others_need_a_token(self, started: Server, manifests: dict[str, Any]) -> None:
        service = manifests["Service"]["metadata"]["name"]
        store = f"sqlite:///{started.store}"
        with closing(LineageStore(open_table(store))) as opened:
            _, secret = opened.access.create_token("test", [Grant(Role.READER, "*")])
        assert self._status(started, "/v3/namespaces", service) == 401
        for name in (service, f"{service}.default.svc", "lineage.example.com"):
            assert self._status(started, "/v3/namespaces", name, secret.text()) == 200
        assert self._status(started, "/v3/namespaces", "other.example", secret.text()) == 421

    def test_prometheus_scrapes_with_its_token(self, started: Server, manifests: dict[str, Any]) -> None:
        assert self._status(started, "/metrics", self.ADDRESS) == 401
        assert self._status(started, "/metrics", self.ADDRESS, self.SECRET) == 200

    def _status(self, server: Server, path: str, host: str, token: str = "") -> int:
        headers = {"Host": host} | ({"Authorization": f"Bearer {token}"} if token else {})
        return requests.get(f"http://127.0.0.1:{server.port}{path}", headers=headers, timeout=120).status_code


def test_names_of_manifests_do_not_meet() -> None:
    paths = sorted([*DOCKER.glob("kubernetes/*.yaml"), *ROOT.glob("examples/kubernetes/*.yaml")])
    names = [
        (manifest["kind"], manifest["metadata"]["name"])
        for path in paths
        for manifest in yaml.safe_load_all(path.read_text())
    ]
    assert len(names) == len(set(names)) >= 12


class TestMetrics:
    """The dashboard and the alerts ask for metrics and labels that exist."""

    @pytest.mark.slow
    def test_every_metric_of_the_package_is_exported(self, scraped: Scrape) -> None:
        exported = {name for family in scraped.families for name in (family.name, f"{family.name}_total")}
        assert {metric.name for metric in declared_metrics()} <= exported

    def test_names(self, scraped: Scrape) -> None:
        samples = {sample.name for family in scraped.families for sample in family.samples}
        names_used = {name for expression in expressions() for name in re.findall(r"\bfll_\w+", expression)}
        assert names_used <= samples
        families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names_used}
        # Each is on the dashboard or in an alert, or nobody sees it.
        assert {metric.name for metric in declared_metrics()} <= families

    @pytest.mark.parametrize("expression", sorted(set(expressions())))
    def test_labels(self, scraped: Scrape, expression: str) -> None:
        names = re.findall(r"\bfll_\w+", expression)
        labels = {
            label
            for family in scraped.families
            for sample in family.samples
            if sample.name in names
            for label in sample.labels
        }
        used = set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"', expression))
        used |= {
            label
            for listed in re.findall(r"\bby \(([^)]*)\)", expression)
            for label in re.split(r",\s*", listed)
        }
        assert used <= labels | LABELS_OF_PROMETHEUS

    def test_alerts_say_how_bad_and_what(self) -> None:
        rules = [rule for group in ALERTS["groups"] for rule in group["rules"]]
        assert len({rule["alert"] for rule in rules}) == len(rules) >= 9
        for rule in rules:
            assert rule["labels"]["severity"] in ("critical", "warning")
            assert rule["annotations"]["summary"]

    def test_panels_are_apart(self) -> None:
        positions = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]}
        assert (
            len(positions) == len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
        )


class TestCompose:
    """Prometheus asks the service by a name that the server answers for."""

    def test_files_and_names(self) -> None:
        services = MONITORING["services"]
        for service in services.values():
            for volume in service.get("volumes", ()):
                source = volume.partition(":")[0]
                assert source in MONITORING["volumes"] or (DOCKER / source).exists(), source
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        (job,) = SCRAPE["scrape_configs"]
        (target,) = job["static_configs"][0]["targets"]
        name, _, port = target.partition(":")
        assert name in services["api"]["environment"]["FLL_ALLOWED_HOSTS"].split(",")
        assert int(port) == Settings().port
        assert set(services["api"]["environment"]) <= SETTINGS
        assert SCRAPE["rule_files"] == ["alerts.yml"]


@every_release
class TestKubernetes:
    """The manifests fit the server and each other; tests/tools checks them by their schemas."""

    @pytest.fixture
    def pod(self, manifests: dict[str, Any]) -> dict[str, Any]:
        pod: dict[str, Any] = manifests["Deployment"]["spec"]["template"]
        return pod

    @pytest.fixture
    def container(self, pod: dict[str, Any]) -> dict[str, Any]:
        (container,) = pod["spec"]["containers"]
        return container  # type: ignore[no-any-return]

    def test_kinds_and_versions(self, manifests: dict[str, Any]) -> None:
        versions = {kind: manifest["apiVersion"] for kind, manifest in manifests.items()}
        common = {"ConfigMap": "v1", "Deployment": "apps/v1", "Service": "v1", "Pods": "v1"}
        if manifests is RELEASES["lineage"]:
            assert versions == {**common, "PodDisruptionBudget": "policy/v1"}
        else:
            assert versions == {**common, "PersistentVolumeClaim": "v1"}
        assert manifests["Pods"]["spec"]["clusterIP"] == "None"

    def test_settings(self, manifests: dict[str, Any]) -> None:
        data = manifests["ConfigMap"]["data"]
        assert all(isinstance(value, str) for value in data.values())
        assert set(data) <= SETTINGS
        settings = from_environment(data)
        assert settings.host == "0.0.0.0"
        if manifests is RELEASES["lineage"]:
            assert hbase_url.parse_url(settings.store).table == "field_level_lineage"
        else:
            assert f"FLL_STORE={settings.store}" in (DOCKER / "api" / "Dockerfile").read_text()

    def test_selectors(self, pod: dict[str, Any], manifests: dict[str, Any]) -> None:
        labels = pod["metadata"]["labels"].items()
        assert manifests["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels
        for service in (manifests["Service"], manifests["Pods"]):
            assert service["spec"]["selector"].items() <= labels
        others = [other for other in RELEASES.values() if other is not manifests]
        assert all(not other["Service"]["spec"]["selector"].items() <= labels for other in others)

    def test_replicas(self, pod: dict[str, Any], manifests: dict[str, Any]) -> None:
        deployment = manifests["Deployment"]["spec"]
        if manifests is RELEASES["lineage"]:
            budget = manifests["PodDisruptionBudget"]["spec"]
            assert budget["minAvailable"] < deployment["replicas"]
            assert budget["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
            assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        else:
            # A file of SQLite has one server, also during an update.
            assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})

    def test_ports(self, container: dict[str, Any], manifests: dict[str, Any]) -> None:
        (port,) = container["ports"]
        assert str(port["containerPort"]) == manifests["ConfigMap"]["data"]["FLL_PORT"]
        assert port["containerPort"] == manifests["Pods"]["spec"]["ports"][0]["port"]
        (service,) = manifests["Service"]["spec"]["ports"]
        assert service["targetPort"] == port["name"]

    def test_prometheus_finds_the_pods(self, manifests: dict[str, Any]) -> None:
        (scrape_config,) = SCRAPE_OF_PODS["scrape_configs"]
        (discovery,) = scrape_config["dns_sd_configs"]
        assert discovery["port"] == manifests["Pods"]["spec"]["ports"][0]["port"]
        assert discovery["names"] == [RELEASES["lineage"]["Pods"]["metadata"]["name"]]
        assert scrape_config["authorization"]["credentials_file"].endswith("/FLL_METRICS_TOKEN")

    def test_probes_are_routes(self, container: dict[str, Any]) -> None:
        app = create_app(LineageStore(open_table("sqlite:///:memory:")))
        paths = {rule.rule for rule in app.url_map.iter_rules()}
        probes = {name: probe["httpGet"] for name, probe in container.items() if name.endswith("Probe")}
        assert {name: probe["path"] for name, probe in probes.items()} == {
            "startupProbe": "/healthz",
            "livenessProbe": "/healthz",
            "readinessProbe": "/readyz",
        }
        assert {probe["path"] for probe in probes.values()} <= paths
        assert {probe["port"] for probe in probes.values()} == {container["ports"][0]["name"]}

    def test_it_has_few_rights(self, pod: dict[str, Any], container: dict[str, Any]) -> None:
        dockerfile = (DOCKER / "api" / "Dockerfile").read_text()
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert f"--uid {pod['spec']['securityContext']['runAsUser']} " in dockerfile
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert set(container["resources"]) == {"requests", "limits"}

    def test_it_writes_to_volumes(
        self, pod: dict[str, Any], container: dict[str, Any], manifests: dict[str, Any]
    ) -> None:
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        mounts = {mount["mountPath"]: volumes.pop(mount["name"]) for mount in container["volumeMounts"]}
        assert not volumes
        assert "emptyDir" in mounts.pop("/tmp")
        if manifests is RELEASES["lineage"]:
            assert mounts == {}
        else:
            claim = manifests["PersistentVolumeClaim"]["metadata"]["name"]
            assert mounts["/data"]["persistentVolumeClaim"] == {"claimName": claim}
            assert "VOLUME /data" in (DOCKER / "api" / "Dockerfile").read_text()
            # The volume belongs to root; the group may write to it.
            assert pod["spec"]["securityContext"]["fsGroup"] == pod["spec"]["securityContext"]["runAsGroup"]

    def test_it_has_time_to_stop(self, pod: dict[str, Any], container: dict[str, Any]) -> None:
        _, pause = container["lifecycle"]["preStop"]["exec"]["command"]
        needed = int(pause) + http_server.GRACEFUL_SECONDS
        assert pod["spec"]["terminationGracePeriodSeconds"] > needed


def test_the_unit_of_systemd() -> None:
    text = (DOCKER / "systemd" / "fll.service").read_text()
    # A section is a table of names, of which Environment is there twice.
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    assert unit["Service"]["ExecStart"].endswith("/bin/fll serve")
    variables = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
    assert set(variables) <= SETTINGS
    assert from_environment(variables).store.startswith("sqlite:////var/lib/fll/")
    assert unit["Service"]["StateDirectory"] == unit["Service"]["LogsDirectory"] == "fll"
    assert int(unit["Service"]["TimeoutStopSec"]) > http_server.GRACEFUL_SECONDS
    files = 2 * http_server.CONNECTIONS_MAX + http_server.RESERVED_FILES
    assert int(unit["Service"]["LimitNOFILE"]) == files


def test_nginx_names_the_port_and_settings_of_the_server() -> None:
    text = (DOCKER / "nginx" / "lineage.conf").read_text()
    assert f"server 127.0.0.1:{Settings().port};" in text
    assert set(re.findall(r"FLL_\w+", text)) <= SETTINGS
    assert f"client_max_body_size {Settings().batch_bytes_max // 2**20}m;" in text
    assert text.count("{") == text.count("}")
