"""`fll serve` serves the address that it prints."""

from __future__ import annotations

from pathlib import Path

import requests

from cli.commands import printed, serving


def test_an_ipv6_address_serves_and_is_printed_as_a_url(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path, host="::1") as url:
        assert url.startswith("http://[::1]:")
        assert requests.get(f"{url}/readyz", timeout=5).json() == {"status": "ready"}
        assert "No dataset or field has 'x'" in printed("find", "x", "--server", url)
    assert f"at {url}/docs" in (tmp_path / "server.log").read_text()
