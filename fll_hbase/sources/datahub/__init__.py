"""What do DataHub's clients say: metadata proposals to runs and schemas, and urns to end points and back."""

from fll_hbase.sources.datahub.aspect_counters import Counted, Counts, Outcome
from fll_hbase.sources.datahub.envelopes import Form
from fll_hbase.sources.datahub.messages import Ingested, read

__all__ = ["Counted", "Counts", "Form", "Ingested", "Outcome", "read"]
