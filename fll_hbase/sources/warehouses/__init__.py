"""Sources that read exported query history of warehouses, and their shared parts."""
