"""Files that exactly one of several processes creates, as commit points of exports."""

from __future__ import annotations

import uuid
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from fll_hbase.spark.exports.hadoop_files import TEMPORARY


def create_file(spark: SparkSession, directory: str, name: str, text: str) -> bool:
    """Create a file, which appears only when complete; return False if it exists. Only one writer creates it.

    Raises py4j's Py4JJavaError with the error of the file system.
    """
    java: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    files = java.org.apache.hadoop.fs
    root = files.Path(directory)
    configuration = spark._jsc.hadoopConfiguration()
    file_system = root.getFileSystem(configuration)
    temporary, target = (
        file_system.makeQualified(files.Path(root, f"./{path}"))
        for path in (f"{TEMPORARY}{uuid.uuid4().hex}", name)
    )
    stream = file_system.create(temporary, False)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()
    # FileSystem.rename would replace a local file.
    context = files.FileContext.getFileContext(file_system.getUri(), configuration)
    try:
        context.rename(temporary, target, gateway.new_array(files.Options.Rename, 0))
    except Py4JJavaError as error:
        file_system.delete(temporary, False)
        if "FileAlreadyExistsException" in str(error.java_exception.toString()):
            return False
        raise
    return True
