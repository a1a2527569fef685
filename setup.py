"""What setup.cfg cannot state: packages, version, long description, and the commit of a build.

The wheel has `fll_hbase`, with the folder `api` as `fll_hbase.api`: the repository keeps `api/` at its top,
where a package `api` in an environment would collide with any other.
"""

import os
import re
from configparser import RawConfigParser
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
RELEASE = (ROOT / "fll_hbase" / "runtime" / "release.py").read_text()
VERSION = re.search(r'^VERSION = "(.+)"$', RELEASE, re.MULTILINE)[1]


def absolute_links(text, version):
    """Return Markdown whose relative links lead to the repository at the tag of a version."""
    config = RawConfigParser()
    config.read(ROOT / "setup.cfg")
    home = config["metadata"]["url"]

    def absolute(link):
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({home}/{kind}/v{version}/{link['path']})"

    relative = r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#|/)[^)\s]+)\)"
    return re.sub(relative, absolute, text)


class BuildWithCommit(build_py):
    """Write the commit of `FLL_BUILD_COMMIT` into `fll_hbase/commit`, which `fll --version` prints."""

    def run(self):
        super().run()
        commit = os.environ.get("FLL_BUILD_COMMIT", "")
        if commit and not self.editable_mode:
            (Path(self.build_lib) / "fll_hbase" / "commit").write_text(f"{commit}\n")


setup(
    version=VERSION,
    long_description=absolute_links((ROOT / "README.md").read_text(encoding="utf-8"), VERSION),
    long_description_content_type="text/markdown",
    packages=[
        *find_packages(include=["fll_hbase", "fll_hbase.*"]),
        *(f"fll_hbase.{name}" for name in find_packages(include=["api", "api.*"])),
    ],
    package_dir={"fll_hbase.api": "api"},
    cmdclass={"build_py": BuildWithCommit},
)
