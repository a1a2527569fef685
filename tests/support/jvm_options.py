"""Options for the JVMs of tests, which start sooner with them and compile less."""

from __future__ import annotations

from pathlib import Path

SPARK_CLASSES = Path(__file__).parents[2] / "build" / "jvm" / "spark.jsa"
"""The classes of Spark as a JVM maps them into its memory: `make build/jvm/spark.jsa` writes them."""

# A file is written with `chmod`, a program: VFORK starts it without a helper that replaces itself.
_ALWAYS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"

# Of other jars or another JDK, as with HBase and Spark 3.5, the JVM ignores the archive; it would say so on
# standard output.
_ARCHIVE = f" -XX:SharedArchiveFile={SPARK_CLASSES} -Xlog:cds*=off"

JVM_OPTIONS = _ALWAYS + (_ARCHIVE if SPARK_CLASSES.exists() else "")

JVM_ENVIRONMENT = {"JDK_JAVA_OPTIONS": JVM_OPTIONS}
"""For the JVMs of a process; each of them says on standard error that it has them."""

SPARK_JVM = {"spark.driver.extraJavaOptions": JVM_OPTIONS}
"""For a session of Spark."""
