"""From dbt artifacts to recorded runs: one for each model, seed and snapshot that dbt built."""

from fll_hbase.sources.dbt.artifact import read_target
from fll_hbase.sources.dbt.document import ParsedArtifacts, read

__all__ = ["ParsedArtifacts", "read", "read_target"]
