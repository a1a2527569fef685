"""Native documents: operations with origins, and the name-based form."""
