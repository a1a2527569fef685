"""Complete lines of a plan file that another process appends to."""

from __future__ import annotations

from pathlib import Path

from fll_hbase.capture.plan_spool import PlanSpoolError
from fll_hbase.marked_directory import os_reason


class PlanLines:
    """The complete lines of a plan file, read as they are appended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def read(self, bytes_max: int) -> list[tuple[int, bytes]]:
        """Return lines that were not read before, each with the offset of its end.

        Of more than `bytes_max` bytes the rest is left for later, but a single line is read at any length.
        Raises PlanSpoolError.
        """
        read = 0
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while read < bytes_max or b"\n" not in self._rest:
                    part = file.read(bytes_max)
                    if not part:
                        break
                    self._rest += part
                    read += len(part)
        except OSError as error:
            raise PlanSpoolError(f"{self._path} cannot be read: {os_reason(error)}") from error
        end = self._offset - (len(self._rest) - read)
        self._offset += read
        # Not splitlines(), which ends lines at other characters, too.
        *complete, self._rest = self._rest.split(b"\n")
        lines = []
        for line in complete:
            end += len(line) + 1
            lines.append((end, line))
        return lines
