"""Sample lineage: ninety days of a bank and a hospital, and a pipeline in the name-based form."""

from fll_hbase.sample.load import RUNS, SampleReport, documents, is_aged, load

__all__ = ["RUNS", "SampleReport", "documents", "is_aged", "load"]
