"""The Spark session of the tests, which a command must not stop."""

from __future__ import annotations

from pyspark.sql import SparkSession


class SharedSession:
    """The session of the tests, which the command must not stop."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, name: str, **_: object) -> SharedSession:
        return self

    def __getattr__(self, name: str) -> object:
        return (lambda: None) if name == "stop" else getattr(self._spark, name)
