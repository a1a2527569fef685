"""docs/operate/jobs/stream.md documents every option of the command, and only those."""

from __future__ import annotations

import re
from pathlib import Path

from fll_hbase.cli.commands.spark.stream import stream
from fll_hbase.spark.stats import BatchReport, LineCounts, StreamReport
from tests.docs.option_tables import SHARED, option_names

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operate" / "jobs" / "stream.md").read_text(
    encoding="utf-8"
)


def test_every_option_is_documented() -> None:
    documented = set(re.findall(r"^\| `(--[a-z-]+)` \|", PAGE, re.MULTILINE))
    assert documented | SHARED == option_names(stream)


def test_commands_shown_have_options_that_are() -> None:
    shown = " ".join(re.findall(r"^\$ fll (spark stream(?:.*\\\n)*.*)$", PAGE, re.MULTILINE))
    options = {option for parameter in stream.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", shown)) <= options


def test_example_lines_have_the_members_of_real_ones() -> None:
    batch, stream = (
        BatchReport(0, LineCounts(), 1.0).summary(),
        StreamReport(1, LineCounts(), 1.0, "rejects").summary(),
    )
    first, last = re.search(r"```json\n(.*)\n(.*)\n```", PAGE).groups()
    assert re.findall(r'"(\w+)": ', first) == list(batch)
    assert re.findall(r'"(\w+)": ', last) == list(stream)
