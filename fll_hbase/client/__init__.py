"""One interface to lineage, for a store of this process and for a server; `opening` opens either."""
