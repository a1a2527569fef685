"""Settings of capture: precedence, every fault in one error, and no secret in any text."""

from __future__ import annotations

from pathlib import Path

import pytest

from fll_hbase.capture.capture_settings import (
    CaptureSettings,
    default_spool,
    read_settings,
    without_credentials,
)
from fll_hbase.runtime.errors import ConfigurationError

URL = "http://lineage:8080"


def read(
    environment: dict[str, str] | None = None,
    spark: dict[str, str] | None = None,
    **arguments: str | int | None,
) -> CaptureSettings | None:
    return read_settings(arguments, (spark or {}).get, environment or {})


def test_without_a_url_capture_is_off_whatever_else_is_set() -> None:
    assert read() is None
    assert read({"FLL_CAPTURE_NAMESPACE": "", "FLL_CAPTURE_LITERALS": "7"}, capture_namespace="x") is None


def test_an_argument_overrides_spark_which_overrides_the_environment() -> None:
    environment = {
        "FLL_CAPTURE_URL": "http://environment",
        "FLL_CAPTURE_NAMESPACE": "environment",
        "FLL_CAPTURE_LITERALS": "1",
        "FLL_CAPTURE_BYTES_MAX": "70000",
        "FLL_CAPTURE_SPOOL": "/environment",
        "FLL_TOKEN": "t",
    }
    spark = {
        "spark.fll.capture.namespace": "spark",
        "spark.fll.capture.spool": "/spark",
        "spark.fll.capture.literals": "false",
    }
    assert read(environment, spark, capture_spool="/argument") == CaptureSettings(
        url="http://environment",
        namespace="spark",
        spool=Path("/argument"),
        literals=False,
        bytes_max=70_000,
        token="t",
    )


def test_every_fault_is_in_one_error_by_the_name_under_which_it_was_set() -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(
            {"FLL_CAPTURE_BYTES_MAX": "much", "FLL_CAPTURE_URL": "lineage:8080"},
            {"spark.fll.capture.literals": "perhaps"},
            capture_namespace="  ",
        )
    text = str(raised.value)
    for part in (
        "FLL_CAPTURE_BYTES_MAX='much' is not a whole number",
        "'lineage:8080' is not the URL of a server",
        "spark.fll.capture.literals='perhaps' is not a whole number",
        "the namespace '  ' is empty",
    ):
        assert part in text


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "ftp://host",
        "http://host:port",
        "http://[::1",
        "sqlite:///x.db",
        "http:///path",
        "http://my host",
        "http://h\0st",
    ],
)
def test_a_url_that_is_none_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="expected http://host:port"):
        read(capture_url=url)


def test_blanks_around_a_url_do_not_matter() -> None:
    """Variables that are read from files end with a newline."""
    settings = read({"FLL_CAPTURE_URL": f" {URL}\n"})
    assert settings is not None
    assert settings.url == URL


@pytest.mark.parametrize("spool", ["~no-such-user/spool", "a\0b"])
def test_a_spool_that_is_no_path_is_a_fault(spool: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a path"):
        read(capture_url=URL, capture_spool=spool)


def test_no_text_shows_a_secret() -> None:
    url = "https://anna:s3cret@lineage:8443/base/?token=s3cret#s3cret"
    settings = read({"FLL_TOKEN": "s3cret"}, capture_url=url)
    assert settings is not None
    assert settings.destination == without_credentials(url) == "https://lineage:8443/base"
    assert "s3cret" not in repr(settings)
    with pytest.raises(ConfigurationError) as raised:
        read(capture_url="ftp://anna:s3cret@lineage")
    assert "s3cret" not in str(raised.value)


def test_the_default_spool_is_below_that_of_the_user() -> None:
    assert default_spool({"XDG_STATE_HOME": "/state"}) == Path("/state/fll-capture")
    assert default_spool({"XDG_STATE_HOME": "state"}) == Path.home() / ".local/state/fll-capture"
    assert default_spool({}) == Path.home() / ".local/state/fll-capture"


def test_a_user_without_a_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    # As for a user id of a container that no passwd file has.
    monkeypatch.setattr(Path, "expanduser", refuse)
    with pytest.raises(ConfigurationError, match="set FLL_CAPTURE_SPOOL"):
        default_spool({})
    assert default_spool({"XDG_STATE_HOME": "/state"}) == Path("/state/fll-capture")
