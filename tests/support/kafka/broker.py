"""A real Kafka for one test: a broker that is its own controller, on loopback, in its own folder."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from tests.support.ports import free_port

FETCHED = Path(__file__).parent / "target"
CLUSTER_ID = "bGluZWFnZS1vZi1maWVsZA"
START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 30
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Djava.net.preferIPv4Stack=true")


def connector() -> list[Path]:
    """The jars of Spark's Kafka connector."""
    return _jars("connector")


class Broker:
    """Runs inside `with`; leaving it stops the process, the folder stays."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._properties = home / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self._port, self._controller_port = free_port(), free_port()

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> Broker:
        self._home.mkdir(parents=True, exist_ok=True)
        self._properties.write_text(self._settings(), encoding="utf-8")
        self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties))
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start, or continue after `stop`; returns when it accepts connections."""
        with (self._home / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                _java("kafka.Kafka", str(self._properties)), cwd=self._home, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no broker at {self.address}: see {self._home / 'broker.log'}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End the process with SIGTERM, and with SIGKILL after STOP_SECONDS_MAX."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def create(self, topic: str, *, partitions: int) -> None:
        """Create a topic; its partitions are numbered from 0."""
        self._tool("TopicCommand", "--create", "--topic", topic, "--partitions", str(partitions))

    def produce(self, topic: str, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send pairs of key and value, in order within a key; returns when all are stored."""
        lines = [key.encode() + b"\t" + value for key, value in messages]
        keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=\t")
        self._tool("ConsoleProducer", "--topic", topic, *keyed, sent=b"\n".join(lines) + b"\n")

    def _tool(self, name: str, *arguments: str, sent: bytes = b"") -> None:
        self._run(f"org.apache.kafka.tools.{name}", "--bootstrap-server", self.address, *arguments, sent=sent)

    def _run(self, main: str, *arguments: str, sent: bytes = b"") -> None:
        done = subprocess.run(
            _java(main, *arguments), cwd=self._home, input=sent, capture_output=True, timeout=120, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{main} ended with {done.returncode}: {(done.stderr + done.stdout).decode()}")

    def _answers(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self._port)) == 0

    def _settings(self) -> str:
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": str(self._home / "log"),
            "offsets.topic.replication.factor": "1",
            "auto.create.topics.enable": "false",
        }
        return "".join(f"{name}={value}\n" for name, value in settings.items())


def _java(main: str, *arguments: str) -> list[str]:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    return [str(java), *QUICK, "-cp", ":".join(map(str, _jars("broker"))), main, *arguments]


def _jars(folder: str) -> list[Path]:
    jars = sorted((FETCHED / folder).glob("*.jar"))
    if not jars:
        raise FileNotFoundError(
            f"{FETCHED / folder} contains no jars: `mvn -q -B -f {FETCHED.parent}/pom.xml package`"
        )
    return jars
