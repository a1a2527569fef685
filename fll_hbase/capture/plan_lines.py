"""Complete lines of a plan file that another process appends to."""

from __future__ import annotations

from pathlib import Path

from fll_hbase.capture.plan_spool import PlanSpoolError
from fll_hbase.recorder.marked_directory import os_reason


class PlanLines:
    """The complete lines of a plan file, read as they are appended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self, bytes_max: int) -> list[tuple[int, bytes]]:
        """Return lines that were not read before, each with the offset of its end.

        Reads parts of `bytes_max` bytes until one contains the end of a line. Raises PlanSpoolError.
        """
        content = b""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while len(content) < bytes_max or b"\n" not in content:
                    part = file.read(bytes_max)
                    if not part:
                        break
                    content += part
        except OSError as error:
            raise PlanSpoolError(f"{self._path} cannot be read: {os_reason(error)}") from error
        # Read an unfinished line again later: the listener takes back a line that a full disk cut.
        # splitlines() would also end lines at other characters.
        *complete, _ = content.split(b"\n")
        lines = []
        for line in complete:
            self._offset += len(line) + 1
            lines.append((self._offset, line))
        return lines
