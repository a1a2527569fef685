"""Does a load run under spark-submit, on workers that have nothing but Spark and a Python?"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from spark.cluster import BARE_PYTHON, Standalone, archive
from spark.load_inputs import in_one_call, plain, spread
from spark.stream_process import documents, rows

PAGE = (Path(__file__).parents[2] / "docs" / "spark" / "load.md").read_text(encoding="utf-8")


def test_a_load_on_two_workers(tmp_path: Path) -> None:
    """With the script and the options that the page tells of."""
    script = tmp_path / "fll.py"
    script.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    options = re.findall(r"^    (--(?:archives|conf) \S+) ", PAGE, re.MULTILINE)
    assert len(options) == 2
    shipped = archive(tmp_path / "deps.tar")
    placed = " ".join(options).replace("deps.tar.gz", str(shipped)).split()
    lines = documents(0, 200)
    spread(tmp_path / "in", lines)
    (tmp_path / "in" / "bad").write_bytes(plain([b"{}"]))
    url, rejects = f"sqlite:///{tmp_path}/lineage.db", tmp_path / "rejects"
    load = ["spark", "load", str(tmp_path / "in"), "--store", url, "--rejects", str(rejects)]
    with Standalone(tmp_path) as cluster:
        done = cluster.submit(script, load, *placed)
        workers = cluster.executors()
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert (told["read"], told["recorded"], told["rejected"]) == (201, 200, 1)
    assert workers == 2
    assert rows(url) == in_one_call(lines)


def test_the_workers_have_none_of_it_themselves() -> None:
    ask = [BARE_PYTHON, "-c", "import fll_hbase"]
    assert subprocess.run(ask, capture_output=True, check=False, cwd="/").returncode != 0
