"""A word that an option does not have is answered with the one that was meant, if there is one."""

from __future__ import annotations

import click
import pytest

from fll_hbase.cli.word_choice import WordChoice


@pytest.mark.parametrize(
    ("words", "typed", "meant"),
    [
        (("RUNNING", "COMPLETE", "FAIL", "ABORT"), "failed", "fail"),
        (("RUNNING", "COMPLETE", "FAIL", "ABORT"), "Killed", "abort"),
        (("backward", "forward"), "downstream", "forward"),
        (("table", "json"), "jsno", "json"),
        (("table", "json"), "csv", ""),
        (("table", "json"), "", ""),
    ],
)
def test_the_word_that_was_meant(words: tuple[str, ...], typed: str, meant: str) -> None:
    choice = WordChoice(words, case_sensitive=False)
    assert choice.suggest(typed) == meant
    with pytest.raises(click.BadParameter) as refused:
        choice.convert(typed, None, None)
    assert refused.value.message.endswith(f" Did you mean {meant!r}?" if meant else f"{words[-1].lower()!r}.")
    if meant:
        assert choice.convert(meant, None, None) == meant.upper() if words[0].isupper() else meant
