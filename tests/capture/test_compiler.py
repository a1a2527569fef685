"""Source of the listener, and Spark that cannot run it."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from fll_hbase.capture.compiler import CaptureUnavailable, source, start_listener
from tests.support.capture.golden_dumps import ROOT


def test_the_source_is_one_unit_with_all_classes() -> None:
    text = source()
    assert text.startswith("package fll.capture;\nimport ")
    assert not re.search(r"^import .*$", text[text.index("class ") :], re.MULTILINE)
    names = {path.stem for path in (ROOT / "fll_hbase" / "capture" / "listener").glob("*.java")}
    assert set(re.findall(r"^(?:public )?final class (\w+)", text, re.MULTILINE)) == names


def test_a_session_without_jvm_is_refused() -> None:
    with pytest.raises(CaptureUnavailable, match="no JVM"):
        start_listener(SimpleNamespace(), "/data/plans", 1, literals=False)  # type: ignore[arg-type]


def test_another_spark_is_named() -> None:
    """A context without the members that the listener needs."""
    context = SimpleNamespace(_gateway=SimpleNamespace(), _jsc=SimpleNamespace(), version="2.4.8")
    with pytest.raises(CaptureUnavailable, match=r"Spark 2\.4\.8 does not accept the listener"):
        start_listener(context, "/data/plans", 1, literals=False)  # type: ignore[arg-type]
