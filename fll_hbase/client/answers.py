"""Answers with the type of their body, and answers that are tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fll_hbase.model.window import Window
from fll_hbase.queries.tables import NO_TABLE, TableShape
from fll_hbase.runtime.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas

BodyT = TypeVar("BodyT")


@dataclass(frozen=True, slots=True)
class TypedAnswer(Generic[BodyT]):
    """An answer of the REST contract; `incomplete` is why it is truncated, "" if it is complete.

    If the window begins before the retention horizon of the dataset, `retained_from_ms` is that horizon.
    `next_page` has the parameters of the page after it, none on the last page and for answers without pages.
    """

    body: BodyT
    incomplete: str = ""
    retained_from_ms: int | None = None
    next_page: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableAnswer(TypedAnswer[BodyT]):
    """An answer that is a table too: iterable, and a DataFrame by `to_pandas`.

    `window` is the one that it is about.
    """

    shape: TableShape = NO_TABLE
    window: Window | None = None

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self.shape.columns

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows, each with a value or None for every column."""
        return self.shape.rows(self.body)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame; starts are timestamps in UTC.

        Raises ConfigurationError without pandas, which is the extra `pandas` of this package.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "to_pandas needs pandas, which is not installed: pip install '.[pandas]' in the source tree"
            ) from error
        frame = pandas.DataFrame(self.rows, columns=list(self.columns))
        for column in self.shape.times:
            # In milliseconds: nanoseconds, the default, end in 2262, and starts of runs may be later.
            frame[column] = frame[column].astype("datetime64[ms]").dt.tz_localize("UTC")
        return frame
