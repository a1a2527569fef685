"""A listener whose lines another process appends, lines for it, and waits."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field

from tests.support.capture import recorded_plans


@dataclass
class ProcessListener:
    """A listener whose lines are appended by a process."""

    process: subprocess.Popen[bytes]
    dropped_count: int = 0
    missed_count: int = 0
    is_busy: bool = False
    calls: list[str] = field(default_factory=list)

    def waiting(self) -> int:
        return 0

    def dropped(self) -> int:
        return self.dropped_count

    def missed(self) -> int:
        return self.missed_count

    def restart(self, recorded: int) -> bool:
        self.calls.append(f"restart {recorded}")
        return False

    def wait_until_empty(self, seconds: float) -> bool:
        self.calls.append("wait")
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return not self.is_busy

    def stop(self) -> None:
        self.calls.append("stop")

    def disconnect(self) -> None:
        self.calls.append("disconnect")


def lines(application: str, count: int, *, is_ended: bool = True) -> bytes:
    content = b"".join(recorded_plans.lines(count, is_ended=is_ended))
    return content.replace(b"job one", application.encode()).replace(
        b"local-1795447613671", application.encode()
    )
