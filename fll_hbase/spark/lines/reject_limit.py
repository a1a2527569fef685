"""The limit of rejected lines of a job: a number, or a share of the lines."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.runtime.errors import ConfigurationError

LINES_MIN = 10_000
"""Lines that a task reads before it compares its share, so that a bad start does not exceed the limit."""


@dataclass(frozen=True, slots=True)
class RejectLimit:
    """A limit of `count` rejected lines, or of a `share` (0 to 1) of all lines. None means no limit."""

    count: int | None = None
    share: float | None = None

    def is_exceeded(self, rejected: int, read: int) -> bool:
        """Return whether `rejected` of `read` lines exceed the limit. Exactly the limit is allowed."""
        if self.count is not None:
            return rejected > self.count
        return self.share is not None and rejected > self.share * read

    def is_exceeded_by_task(self, rejected: int, read: int) -> bool:
        """Return `is_exceeded` for a part of the lines; a share is not exceeded before LINES_MIN lines."""
        return (self.count is not None or read >= LINES_MIN) and self.is_exceeded(rejected, read)

    def __str__(self) -> str:
        """Return the limit as text for an error: the share as a fraction, or else the number."""
        return f"{self.share:.6g} of all lines" if self.share is not None else f"{self.count}"


NO_LIMIT = RejectLimit()


def parse_limit(text: str) -> RejectLimit:
    """Parse a number from 0 such as `100`, or a share up to 100% such as `5%`. Raises ConfigurationError."""
    try:
        if text.endswith("%"):
            # This comparison also refuses NaN.
            if 0 <= (share := float(text[:-1]) / 100) <= 1:
                return RejectLimit(share=share)
        elif (count := int(text)) >= 0:
            return RejectLimit(count)
    except ValueError:
        pass
    raise ConfigurationError(f"{text!r} is not a number of lines such as 100, or a share such as 5%")
