"""A client made by openapi-generator, of which the jar is fetched."""
