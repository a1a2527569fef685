"""What is known of an end point whatever runs did to it: its fields, its description, its other names."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.model.operations import Dataset, Field


@dataclass(frozen=True, slots=True)
class DatasetMetadata:
    """Fields as full paths with their types; `aliases` are further names of the very same end point."""

    dataset: Dataset
    fields: tuple[Field, ...] = ()
    description: str = ""
    aliases: tuple[Dataset, ...] = ()
