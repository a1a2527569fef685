"""Answers with the type of their body, and answers that are tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fll_hbase.model.window import Window
from fll_hbase.queries.tables import NO_TABLE, TableShape
from fll_hbase.runtime.errors import ConfigurationError, FieldError, InvalidQuery

if TYPE_CHECKING:
    import pandas

    from fll_hbase.client.notebook.picture import Picture
    from fll_hbase.queries.query import Query

BodyT = TypeVar("BodyT")


@dataclass(frozen=True, slots=True)
class TypedAnswer(Generic[BodyT]):
    """An answer of the REST contract, with its `body` as a typed value.

    `incomplete` says why the answer is truncated, and is "" if it is complete. `retained_from_ms` is the
    retention horizon of the dataset, in milliseconds since 1970, if the window begins before it: earlier runs
    may have been deleted. `next_page` contains the arguments of the next page, with the exact window of this
    one. It is empty on the last page and for answers without pages. `principal` is the name for which a
    server made a report, "" if it knows none.

    >>> answer = client.runs("bank", "RiskScores", limit=2)
    >>> len(answer.body.runs), answer.incomplete
    (2, 'a greater limit shows more')
    >>> len(client.runs("bank", "RiskScores", limit=2, **answer.next_page))
    2
    """

    body: BodyT
    incomplete: str = ""
    retained_from_ms: int | None = None
    next_page: Mapping[str, Any] = field(default_factory=dict)
    principal: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True, repr=False)
class TableAnswer(TypedAnswer[BodyT]):
    """An answer that may also be a table or a graph: iterate over rows, use `to_pandas` or `plot`.

    `columns` names the members of each row, and a missing value is None. Times in rows are in milliseconds
    since 1970, but `start` of `run_counts` is in seconds. Answers without a table, such as one run, have no
    columns and no rows. `window` is the window of the answer, None for answers about all time. A notebook
    shows the first 60 rows.

    >>> for row in client.fields("bank", "RiskScores", prefix="risk"):
    ...     print(row["name"], row["type"])
    risk_band string
    risk_score double
    """

    shape: TableShape = NO_TABLE
    window: Window | None = None
    query: Query[BodyT] | None = field(default=None, compare=False)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in order."""
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
        """Return the rows as a DataFrame, with times in milliseconds as timestamps in UTC.

        Raises InvalidQuery for an answer without a table, and ConfigurationError if pandas is not installed,
        the extra `pandas` of this package.
        """
        if not self.columns:
            kind = type(self.query).__name__
            raise InvalidQuery([FieldError("query", f"{kind} has no table: use the body of the answer")])
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "to_pandas needs pandas, which is not installed: pip install '.[pandas]' in the source tree"
            ) from error
        frame = pandas.DataFrame(self.rows, columns=list(self.columns))
        for column in self.shape.times:
            # In milliseconds, because the default of nanoseconds ends in 2262, and runs may start later.
            frame[column] = frame[column].astype("datetime64[ms]").dt.tz_localize("UTC")
        return frame

    def plot(self) -> Picture:
        """Return the graph of the answer as a picture, which a notebook shows.

        Answers of `lineage`, `field_lineage`, `reach`, `consumption` and `provenance` are graphs. Solid links
        carry the value, dashed links only decide which rows there are. At most 300 fields and 1,500 links are
        drawn, nearest first, and the picture says how many it leaves out. Raises InvalidQuery for other
        answers.

        >>> client.reach("bank", "RiskScores", "risk_band").plot().save("risk_band.svg")
        """
        from fll_hbase.client.notebook import drawn_graph, html_summary, picture

        graph = drawn_graph.draw(self)
        title, facts = html_summary.title_of(self.query), html_summary.facts_of(self)
        return picture.to_picture(graph, title, facts, html_summary.warnings_of(self))

    def _repr_html_(self) -> str:
        from fll_hbase.client.notebook import html_summary

        return html_summary.to_html(self)

    def __repr__(self) -> str:
        """Return the query and the number of rows, because a body may have hundreds of thousands of rows."""
        from fll_hbase.client.notebook.html_summary import title_of
        from fll_hbase.queries.reports.report_document import count_text

        rows = f", {count_text(len(self), 'row')}" if self.columns else ""
        incomplete = f", not complete: {self.incomplete}" if self.incomplete else ""
        return f"<{type(self).__name__}: {title_of(self.query)}{rows}{incomplete}>"
