"""DataHub: metadata change proposals to runs and dataset metadata, urns to datasets and back."""

from fll_hbase.sources.datahub.aspect_counters import AspectCount, AspectCounters, AspectOutcome
from fll_hbase.sources.datahub.envelopes import MessageFormat
from fll_hbase.sources.datahub.messages import ParsedMessage, read

__all__ = ["AspectCount", "AspectCounters", "AspectOutcome", "MessageFormat", "ParsedMessage", "read"]
