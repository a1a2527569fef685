"""Jobs on Spark, for more lineage than one process can handle. They store the same rows as the API."""
