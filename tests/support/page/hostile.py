"""Names and texts that break pages: separators, quotes, markup, scripts, other alphabets, 1,000 bytes."""

from __future__ import annotations

import time

from tests.support.page.site import Site, path

NAMESPACE = "evil/<i>&ns"
SCRIPT = "<script>window.injected=1</script>"
IMAGE = '"><img src=x onerror="window.injected=1">'
RUN = f"run/1 %2F|{IMAGE}"
NAMES = {
    "slash": "db/table//x",
    "percent": "100% %2F %25",
    "pipe": "a|b",
    "quotes": 'say "it\'s"',
    "script": SCRIPT,
    "image": IMAGE,
    "emoji": "🧾 名前 naïve 👩‍👩‍👧",
    "query": "a&b=c#d?e+f",
    "url": "s3://bucket:9000/a?b=c",
    "javascript": "javascript:window.injected=1",
    "formula": "=1+1",
    "prototype": "__proto__",
    "dot": ".",
    "dots": "..",
    "null": "null",
    "long": "n" * 993 + "/longest",
}
"""By what is wrong with them. Each is a dataset with a field of that name, copied to `copy_name(name)`."""

TAG = f"tag {IMAGE}"
SQL_TABLE = "written_by_sql"
SQL = f"INSERT INTO {SQL_TABLE} SELECT concat(name, `{SCRIPT}`) AS markup FROM people"


def copy_name(name: str) -> str:
    """The dataset that a dataset of `NAMES` is copied to; of 1,000 bytes at most, as all names here."""
    return f"{name[:980]} copy"


def record(site: Site) -> None:
    """Record a run for each name, one of SQL, and a tag, a few seconds ago."""
    now_ms = int(time.time() * 1000) - 60_000
    for number, name in enumerate(NAMES.values()):
        site.send("POST", f"{path(ns=NAMESPACE)}/lineage", _copy(name, f"{RUN} {number}", now_ms + number))
    site.send("PUT", f"{path(ns=NAMESPACE, name=SCRIPT, field=SCRIPT)}/tags/{_quoted(TAG)}", _tag())
    run = {"application": IMAGE, "type": "spark", "program": SCRIPT, "run": "sql", "startTime": now_ms}
    site.send(
        "POST",
        f"{path(ns=NAMESPACE)}/sql",
        {"run": run, "sql": SQL, "dialect": "spark", "schema": {"people": ["name", SCRIPT]}},
    )


def _copy(name: str, run: str, start_ms: int) -> dict[str, object]:
    """A run that reads the field `name` of the dataset `name`, and writes it to its copy."""
    return {
        "run": {
            "application": IMAGE,
            "type": SCRIPT,
            "program": name[:900],
            "run": run,
            "startTime": start_ms,
        },
        "operations": [
            {
                "type": "READ",
                "name": f"read {IMAGE}",
                "description": f"reading {SCRIPT}",
                "source": {"name": name, "description": f"all of {IMAGE}"},
                "outputs": [{"name": name, "type": IMAGE}],
            },
            {
                "type": "TRANSFORM",
                "name": f"op {name[:900]}",
                "description": f"changing {SCRIPT} {IMAGE}",
                "inputs": [{"origin": f"read {IMAGE}", "name": name}],
                "outputs": [name],
            },
            {
                "type": "WRITE",
                "name": "write",
                "description": SCRIPT,
                "destination": {"name": copy_name(name), "description": SCRIPT},
                "inputs": [{"origin": f"op {name[:900]}", "name": name}],
            },
        ],
    }


def _tag() -> dict[str, str]:
    return {"by": f"{SCRIPT}@example.org", "description": IMAGE}


def _quoted(name: str) -> str:
    return path(ns=name).partition("/")[2]
