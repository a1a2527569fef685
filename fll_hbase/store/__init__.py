"""Where lineage meets rows: recording runs, and answering questions about windows."""
