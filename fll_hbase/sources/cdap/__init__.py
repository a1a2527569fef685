"""What does a pipeline config say of a run: seed 000's stages with their field mutations, flattened.

A run document whose `config` is a pipeline's, and whose `arguments` are those its macros were run with.
"""

from fll_hbase.sources.cdap.document import read_document

__all__ = ["read_document"]
