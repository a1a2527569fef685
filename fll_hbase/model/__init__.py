"""Pure lineage algebra: values and functions over them; knows no store and no web."""
