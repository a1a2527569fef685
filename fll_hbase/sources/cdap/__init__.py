"""CDAP pipeline configs as a source: stages with operations or field mutations, flattened into one run.

A document is a run with the pipeline's `config` and the `arguments` with which its macros were run.
"""

from fll_hbase.sources.cdap.document import read_document

__all__ = ["read_document"]
