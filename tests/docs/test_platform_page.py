"""docs/operate/jobs/platform.md documents the options of every job, and its configuration file is one."""

from __future__ import annotations

import re
import tomllib

import click
import pytest

from fll_hbase.cli.commands.spark import spark
from fll_hbase.cli.commands.spark.config_file import parse_config
from tests.docs.option_tables import PAGE, PAGES, SHARED, option_names


@pytest.mark.parametrize("job", sorted(spark.all_commands()))
def test_every_option_is_documented(job: str) -> None:
    page = (PAGES / f"{job}.md").read_text(encoding="utf-8")
    options = option_names(spark.all_commands()[job])
    assert options >= SHARED
    assert [name for name in sorted(options - SHARED) if f"`{name}`" not in page] == []


def test_the_configuration_file_shown_is_one() -> None:
    values = tomllib.loads(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])  # type: ignore[index]
    options = {
        name: [param for param in command.params if isinstance(param, click.Option)]
        for name, command in spark.all_commands().items()
    }
    config = parse_config(values, options, "retention")
    assert config.options["cutoff_ms"] == "now-400d"
    assert config.settings["store_timeout_ms"] == 120_000
    assert config.spark_settings == {"spark.local.dir": "/var/tmp/spark"}
    assert parse_config(values, options, "load").options["rejects"] == "s3a://lake/rejects"
