"""Pure lineage algebra: values and functions over them, independent of store and web."""
