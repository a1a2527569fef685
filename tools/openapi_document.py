"""Print the OpenAPI document as `GET /openapi.json` returns it: `python tools/openapi_document.py`."""

from __future__ import annotations

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table


def main() -> None:
    """Print the OpenAPI document of an app over an empty store, without a server."""
    table = open_table("sqlite:///:memory:")
    try:
        print(create_app(LineageStore(table)).test_client().get("/openapi.json").text)
    finally:
        table.close()


if __name__ == "__main__":
    main()
