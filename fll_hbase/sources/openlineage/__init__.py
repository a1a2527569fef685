"""OpenLineage: run, job and dataset events of spec 2-0-2.

The spec is https://openlineage.io/spec/2-0-2/OpenLineage.json; docs/record/openlineage.md lists stored parts.
"""

from fll_hbase.sources.openlineage.event import ParsedEvent, parse, read

__all__ = ["ParsedEvent", "parse", "read"]
