"""Jobs on Spark, for more lineage than one process can handle; they store the same rows as the API."""
