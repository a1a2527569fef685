"""OpenLineage: run, job and dataset events of spec 2-0-2.

The spec is https://openlineage.io/spec/2-0-2/OpenLineage.json; docs/record/openlineage.md lists which parts
of an event are stored.
"""

from fll_hbase.sources.openlineage.event import ParsedEvent, parse, read

__all__ = ["ParsedEvent", "parse", "read"]
