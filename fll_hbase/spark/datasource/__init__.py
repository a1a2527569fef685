"""Lineage as tables of Spark: `spark.read.format("fll")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fll_hbase.runtime.errors import ConfigurationError

if TYPE_CHECKING:
    from fll_hbase.spark.datasource.source import FORMAT, LineageSource, PushingSource, register

__all__ = ["FORMAT", "LineageSource", "PushingSource", "register"]


def __getattr__(name: str) -> Any:
    """Return one of `__all__`, imported on its first use.

    Raises ConfigurationError if Spark has no Python data sources, and AttributeError for any other name.
    """
    # On demand, because jobs, which also run on Spark 3.5, import other modules of this package.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from fll_hbase.spark.datasource import source
    except ModuleNotFoundError as error:
        if error.name != "pyspark.sql.datasource":
            raise
        import pyspark

        raise ConfigurationError(
            f"the data source `fll` needs Spark 4.1 or later, and this is {pyspark.__version__}: the jobs"
            " `fll spark load` and `fll spark export` run on 3.5, too"
        ) from error
    return getattr(source, name)
