"""Does the page on streams tell every option of the command, and no other?"""

from __future__ import annotations

import re
from pathlib import Path

from fll_hbase.cli.commands.spark.stream import stream
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.stream_stats import BatchReport, StreamReport

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "spark" / "stream.md").read_text(encoding="utf-8")


def test_every_option_is_told() -> None:
    told = set(re.findall(r"^\| `(--[a-z-]+)` \|", PAGE, re.MULTILINE))
    assert told == {option for parameter in stream.params for option in parameter.opts if "-" in option}


def test_commands_shown_have_options_that_are() -> None:
    shown = " ".join(re.findall(r"^\$ fll (spark stream(?:.*\\\n)*.*)$", PAGE, re.MULTILINE))
    options = {option for parameter in stream.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", shown)) <= options


def test_lines_shown_have_the_members_that_are_told() -> None:
    batch, every = BatchReport(0, LineCounts(), 1.0).summary(), StreamReport(1, LineCounts(), 1.0, "rejects").summary()
    first, last = re.search(r"```json\n(.*)\n(.*)\n```", PAGE).groups()
    assert re.findall(r'"(\w+)": ', first) == list(batch)
    assert re.findall(r'"(\w+)": ', last) == list(every)
