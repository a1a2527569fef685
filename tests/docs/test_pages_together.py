"""Pages work with one server, one after the other in any order: what one records, no other page changes."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
import requests

from tests.support.commands import FLL, serving
from tests.support.dbt_artifacts import GOLDEN, target_folder
from tests.support.tour import shown

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "decisions" not in path.parts
}

NEEDS_MORE = re.compile(
    r"^(?:make|pip|tar|dbt|dbt-ol|datahub|airflow|spark-submit|openapi-python-client|printf)\b"
    r"|^(?:export )?(?:AIRFLOW|PYSPARK|FLL_AUTH|OPENLINEAGE)|\bfll (?:spark|serve|capture|sample)\b"
    r"|--server https:|hbase://|\bspark[.,]|fll_hbase\.cli|\bairflow\.|\$PWD",
    re.MULTILINE,
)
"""Commands and programs that need Spark, HBase, another machine or another tool, and those of the server."""

COMMANDS_PAGE = "docs/reference/commands.md"
DBT_PAGE = "docs/record/dbt.md"
"""Its `target` is from a build of dbt, which is not installed here: the runs started at that time."""

PAST_PAGES = (DBT_PAGE, "docs/record/warehouses.md")
"""Pages whose runs started long ago."""

COMPARED = {item.source for item in shown() if item.source.startswith("fll ") and "shop" not in item.source}
"""Queries of the sample whose output `test_tour_page.py` compares; they record nothing.

Those of shops follow a recording on their page, so they run with it.
"""

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RECORDS = re.compile(
    r"\.record|\.emit\(|fll record (?!.*--dry-run)|curl .*-d\b.*\brun\b|ingestFile", re.DOTALL
)
_FOLDER = re.compile(
    r"""--(?:rejects|checkpoint|since-last)[= ](\S+)|(?:checkpointLocation"|spool)(?:, |=)"([^"]+)"""
)


class Example(NamedTuple):
    """A command of a shell, or a program."""

    line: int
    kind: str
    source: str


def examples(page: str) -> Iterator[Example]:
    """Everything on a page that runs here, from top to bottom."""
    text = PAGES[page]
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        sources = [block[2]] if block[1] == "python" else commands(block[2])
        for source in sources:
            if not NEEDS_MORE.search(source) and source not in COMPARED:
                yield Example(line, block[1], source)


def commands(block: str) -> Iterator[str]:
    """The commands of a console, without what they print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        for count in range(1, len(lines) + 1):
            command = "\n".join(lines[:count])
            if is_whole(command):
                yield command
                break


def is_whole(command: str) -> bool:
    """Whether a shell waits for no further line of a command."""
    parsed = subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True, check=False)
    return not parsed.returncode and not parsed.stderr and not command.rstrip().endswith(("\\", "|"))


RUNNING = {page: listed for page in PAGES if (listed := list(examples(page)))}


class Site(NamedTuple):
    """A server with the sample, and its store."""

    url: str
    store: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("docs")
    store = f"sqlite:///{home}/lineage.db"
    subprocess.run([FLL, "sample", "--store", store], check=True, stdout=subprocess.DEVNULL)
    with serving(store, home) as url:
        yield Site(url, store)


def run_page(page: str, site: Site, home: Path) -> str:
    """Run all examples of a page in one shell and a folder of its own; return what it printed."""
    home.mkdir()
    if page == DBT_PAGE:
        (home / "target").mkdir()
        target_folder(GOLDEN / "shop" / "dbt_1_12", home / "target")
    script = ["set -eo pipefail", 'curl() { command curl --fail-with-body "$@"; }']
    for number, example in enumerate(RUNNING[page]):
        source = re.sub(r"(?:http://)?(?:127\.0\.0\.1|localhost):8080", site.url, example.source)
        source = source.replace("sqlite:///data/field_level_lineage.db", site.store)
        if example.kind == "python":
            (home / f"{number}.py").write_text(source)
            source = f"{sys.executable} {number}.py"
        script += [f"echo '{page}:{example.line}' >&2", source]
    path = f"{Path(FLL).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FLL_STORE": site.store}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=home,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
    return done.stdout


def runs_since(url: str, start: int) -> dict[tuple[str, str], Any]:
    """All runs that started at `start`, in seconds since 1970, or later, by namespace and id."""
    with closing(requests.Session()) as session:
        runs: dict[tuple[str, str], Any] = {}
        parameters = {"start": str(start), "end": "now+1m", "limit": "1000"}
        for listed in session.get(f"{url}/v3/runs", params=parameters, timeout=120).json()["runs"]:
            key = listed["namespace"], listed["run"]
            run = "/".join(quote(name, safe="") for name in (key[0], "runs", key[1]))
            runs[key] = listed, session.get(f"{url}/v3/namespaces/{run}", timeout=120).json()
    return runs


def datasets(runs: Iterable[Any]) -> set[tuple[str, str]]:
    """The datasets of runs, by namespace and name."""
    return {(item["namespace"], item["name"]) for _, run in runs for item in run["endpoints"]}


@pytest.mark.slow
def test_pages_in_random_order(site: Site, tmp_path: Path) -> None:
    seed = int(os.environ.get("FLL_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"FLL_TEST_SEED={seed}")
    order = random.Random(seed).sample(sorted(RUNNING), len(RUNNING))
    # Fixed, since the pages take minutes: a run must not leave the window meanwhile.
    start = int(time.time()) - 1_800
    recorded = runs_since(site.url, start)
    pages = dict.fromkeys(datasets(recorded.values()), "the sample")
    for number, page in enumerate(order):
        run_page(page, site, tmp_path / str(number))
        runs = runs_since(site.url, start)
        print(page, sorted(runs.keys() - recorded.keys()))
        assert {key: runs.get(key) for key in recorded} == recorded, (
            f"{page} changed runs of others, of {order}"
        )
        used = datasets(runs[key] for key in runs.keys() - recorded.keys())
        assert not {name: pages[name] for name in used & pages.keys()}, f"{page} uses datasets of other pages"
        pages |= dict.fromkeys(used, page)
        is_now = any(_RECORDS.search(example.source) for example in RUNNING[page])
        assert bool(used) is (is_now and page not in PAST_PAGES), page
        recorded = runs


def test_pages_of_each_kind_run() -> None:
    kinds = {example.kind for listed in RUNNING.values() for example in listed}
    assert kinds == {"console", "python"}
    recording = {
        page for page, listed in RUNNING.items() if any(_RECORDS.search(item.source) for item in listed)
    }
    names = ("datahub", "dbt", "flink", "openlineage", "pipelines", "python", "sql", "warehouses")
    sources = {f"docs/record/{name}.md" for name in names}
    assert recording == {"README.md", "docs/start.md", "docs/ask/tour.md", *sources}


def test_no_two_pages_name_one_folder_of_a_job_or_one_run() -> None:
    pages: dict[str, str] = {}
    # The page of commands has the examples of their help, which no reader runs one after the other.
    for page, text in PAGES.items() - {(COMMANDS_PAGE, PAGES[COMMANDS_PAGE])}:
        blocks = "".join(
            block[2] for block in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        )
        names = {name for pair in _FOLDER.findall(blocks) for name in pair if name}
        names |= set(re.findall(r'"run": "(\w[^"]*)", "startTime"', blocks))
        for name in names:
            assert pages.setdefault(name, page) == page, name
