"""Notes of a release: the section of the changelog, with links that lead to its tag."""

from __future__ import annotations

import re

import pytest

from tools import release_notes

CHANGELOG = """# Changelog

## 0.10.0 (2027-03-01)

Later, see [rest](docs/rest.md#rules).

## 0.1.0 (2026-11-29)

### Record

- First, at [a page](https://example.com/).
"""


def test_a_section_ends_at_the_next_release() -> None:
    assert release_notes.section_of(CHANGELOG, "0.10.0") == "Later, see [rest](docs/rest.md#rules).\n"
    assert release_notes.section_of(CHANGELOG, "0.1.0").startswith("### Record\n\n- First")


def test_a_part_of_a_version_is_none() -> None:
    with pytest.raises(LookupError, match=r"0\.1`"):
        release_notes.section_of(CHANGELOG, "0.1")


def test_relative_links_lead_to_the_tag() -> None:
    text = release_notes.link_to_tag(CHANGELOG, "https://example.org/home", "0.10.0")
    assert "[rest](https://example.org/home/blob/v0.10.0/docs/rest.md#rules)" in text
    assert "[a page](https://example.com/)" in text


def test_notes_of_this_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main([]) == 0
    printed = capsys.readouterr().out
    assert "**Row format:**" in printed
    assert "## 0." not in re.sub(r"^###.*$", "", printed, flags=re.MULTILINE)
    assert "](docs/" not in printed


def test_a_version_without_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main(["9.9.9"]) == 2
    assert capsys.readouterr() == ("", "CHANGELOG.md has no section `## 9.9.9`\n")
