"""From dbt artifacts to recorded runs: one for each model, seed and snapshot that dbt built."""

from __future__ import annotations

from fll_hbase.sources.dbt.document import ParsedArtifacts, read
from fll_hbase.sources.dbt.target_folder import read_target

__all__ = ["ParsedArtifacts", "read", "read_target"]
