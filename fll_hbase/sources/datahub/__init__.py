"""DataHub: from metadata change proposals to runs and dataset metadata, and between urns and datasets."""

from fll_hbase.sources.datahub.envelopes import MessageFormat
from fll_hbase.sources.datahub.messages import AspectCount, AspectCounters, AspectOutcome, ParsedMessage, read

__all__ = ["AspectCount", "AspectCounters", "AspectOutcome", "MessageFormat", "ParsedMessage", "read"]
