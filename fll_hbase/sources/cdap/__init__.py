"""CDAP pipeline configs as a source: stages with operations or field mutations, flattened into one run.

A document is a run with a `config`, the pipeline's, and the `arguments` that its macros were run with.
"""

from fll_hbase.sources.cdap.document import read_document

__all__ = ["read_document"]
