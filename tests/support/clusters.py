"""A real HBase of a test's own: standalone or a cluster, on ports and in a folder that nobody else has."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from types import TracebackType

from tests.support.jvm_options import JVM_OPTIONS

LAUNCHER = Path(__file__).resolve().parents[2] / "docker" / "hbase" / "bin" / "hbase-local"
TABLE = "field_level_lineage"


class Ports:
    """16 ports in a row, below those that the kernel gives to clients.

    The first stays bound as long as this lives: it tells other processes that the row is taken.
    """

    def __init__(self) -> None:
        self._reserved = socket.socket()
        for base in range(20_000, 32_000, 16):
            try:
                self._reserved.bind(("127.0.0.1", base))
            except OSError:
                continue
            if all(_is_free(port) for port in range(base + 1, base + 16)):
                break
            self._reserved.close()
            self._reserved = socket.socket()
        else:
            raise OSError("no 16 free ports in a row from 20000 to 32000")
        self.zookeeper, self.master, self.region_servers, self.thrift = (
            base + 1,
            base + 2,
            base + 3,
            base + 10,
        )

    def close(self) -> None:
        self._reserved.close()


class Cluster:
    """A cluster that `hbase-local` starts in a directory; leaving `with` stops it."""

    def __init__(self, data: Path, ports: Ports | None = None) -> None:
        self.data = data
        self.ports = ports or Ports()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.ports.close()

    def start(self, kind: str = "standalone", *counts: int) -> Cluster:
        """Start "standalone" (gateways) or "cluster" (region servers, gateways); it answers then."""
        self.launch("start", kind, *map(str, counts))
        return self

    def stop(self) -> None:
        """Stop every daemon, in order."""
        self.launch("stop")

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.launch("kill", name)

    def pause(self, name: str) -> None:
        """SIGSTOP: it holds its connections and answers nothing."""
        self.launch("pause", name)

    def resume(self, name: str) -> None:
        self.launch("resume", name)

    def restart(self, name: str) -> None:
        """Start a daemon that was killed, and wait until it is ready."""
        self.launch("restart", name)

    def wait(self) -> None:
        """Wait until every daemon is ready."""
        self.launch("wait")

    def status(self) -> dict[str, str]:
        """Return the state of each daemon: up, down, paused or silent."""
        lines = self._run("status").stdout.splitlines()
        return dict(line.split(maxsplit=2)[:2] for line in lines)

    @property
    def url(self) -> str:
        """The store URL, with every gateway."""
        return self.launch("url").strip()

    @property
    def gateways(self) -> list[int]:
        """The ports of the Thrift gateways."""
        hosts = self.url.removeprefix("hbase://").partition("/")[0]
        return [int(host.rpartition(":")[2]) for host in hosts.split(",")]

    def ddl(self, statements: str, *options: str) -> str:
        """Run what `fll table ddl` prints."""
        return self.launch("ddl", *options, stdin=statements)

    def tool(self, *args: str) -> str:
        """Return the output of a command of `hbase-local tool`."""
        return self.launch("tool", *args)

    def spread(self) -> str:
        """Move the table's regions to the servers in turn; return the error output, empty if it worked."""
        done = self._run("tool", "spread", TABLE)
        return done.stderr if done.returncode else ""

    def launch(self, *args: str, stdin: str = "") -> str:
        """Return the output of the launcher. Raises AssertionError with its error output if it fails."""
        done = self._run(*args, stdin=stdin)
        assert done.returncode == 0, f"hbase-local {' '.join(args)}: {done.stderr}"
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the launcher."""
        return {
            **os.environ,
            "HBASE_DATA": str(self.data),
            "ZK_PORT": str(self.ports.zookeeper),
            "MASTER_PORT": str(self.ports.master),
            "RS_BASE": str(self.ports.region_servers),
            "THRIFT_PORT": str(self.ports.thrift),
            "HBASE_OPTS": JVM_OPTIONS,
        }

    def _run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [LAUNCHER, *args],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
