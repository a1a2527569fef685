"""Answers as tables: the columns and rows of each, for CSV and data frames."""

from __future__ import annotations

from fll_hbase.queries.reach_formats import CSV_COLUMNS
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.runtime.json_types import Json

_DATASET = ("namespace", "name")


def _edges(body: Json) -> list[Row]:
    ends = (("namespace", "Namespace"), ("name", "Name"), ("field", "Field"))
    return [
        edge | {f"{end}{title}": edge[end][member] for end in ("from", "to") for member, title in ends}
        for edge in body["edges"]
    ]


REACH = TableShape(CSV_COLUMNS, _edges, times=("firstStart", "lastStart"))
