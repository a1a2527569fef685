"""Events of a real agent and the lineage expected of them."""
