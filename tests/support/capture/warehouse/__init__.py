"""Jobs of a warehouse: those of the shared agent events, written anew from their expected lineage."""
