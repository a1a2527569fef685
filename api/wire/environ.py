"""Members of our own in the WSGI environment of a request."""

from __future__ import annotations

ROUTE = "fll.route"
"""The path of the route that answers, as in the OpenAPI document; missing where none was reached."""

PRINCIPAL = "fll.principal"
"""The Principal that sends the request, set by authentication; missing without it."""

QUESTIONED = "fll.questioned"
"""A list of what the request asks about, for the audit log: datasets, each with a field or all of them."""
