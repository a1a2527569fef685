"""Lineage as tables of Spark: `spark.read.format("fll")`."""

from fll_hbase.spark.datasource.source import FORMAT, LineageSource, PushingSource, register

__all__ = ["FORMAT", "LineageSource", "PushingSource", "register"]
