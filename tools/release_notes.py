"""Print the notes of a release: its section of CHANGELOG.md, with links that lead to its tag.

    python tools/release_notes.py          the version that the tree has
    python tools/release_notes.py 0.1.0    another one

`make release-notes` runs it; the output is the text of a release on GitHub.
"""

from __future__ import annotations

import re
import sys
from configparser import RawConfigParser
from pathlib import Path

from fll_hbase import __version__

ROOT = Path(__file__).resolve().parents[1]


def section_of(changelog: str, version: str) -> str:
    """Return the lines below the heading of a version. Raises LookupError if there is none."""
    heading = rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)"
    section = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise LookupError(f"CHANGELOG.md has no section `## {version}`")
    return section[1].strip() + "\n"


def link_to_tag(text: str, home: str, version: str) -> str:
    """Return Markdown whose relative links lead to files of the tag of a version."""
    return re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", rf"]({home}/blob/v{version}/\1)", text)


def main(arguments: list[str]) -> int:
    """Print the notes of the version given, else of this tree; return 2 for a version without notes."""
    version = arguments[0] if arguments else __version__
    config = RawConfigParser()
    config.read(ROOT / "setup.cfg")
    try:
        section = section_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    print(link_to_tag(section, config["metadata"]["url"], version), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
