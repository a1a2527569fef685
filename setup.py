"""Packages of the wheel: `fll_hbase`, with the folder `api` as `fll_hbase.api`.

The repository keeps `api/` at its top; a package `api` in an environment would collide with any other.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["fll_hbase", "fll_hbase.*"]),
        *(f"fll_hbase.{name}" for name in find_packages(include=["api", "api.*"])),
    ],
    package_dir={"fll_hbase.api": "api"},
)
