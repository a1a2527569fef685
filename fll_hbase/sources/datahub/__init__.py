"""DataHub: from metadata change proposals to runs and dataset metadata, and between urns and datasets."""

from fll_hbase.sources.datahub.aspect_counters import AspectCount, AspectCounters, AspectOutcome
from fll_hbase.sources.datahub.envelopes import MessageFormat
from fll_hbase.sources.datahub.messages import ParsedMessage, read

__all__ = ["AspectCount", "AspectCounters", "AspectOutcome", "MessageFormat", "ParsedMessage", "read"]
