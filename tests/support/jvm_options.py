"""Options for the JVMs of tests, which start sooner with them and compile less."""

from __future__ import annotations

JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

JVM_ENVIRONMENT = {"JDK_JAVA_OPTIONS": JVM_OPTIONS}
"""For the JVMs of a process; each of them says on standard error that it has them."""

SPARK_JVM = {"spark.driver.extraJavaOptions": JVM_OPTIONS}
"""For a session of Spark."""
