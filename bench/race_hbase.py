"""The questions of the race asked of the store on a real HBase; every answer is compared with tables by hand.

Times are elapsed, since region server and gateway work in processes of their own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench.hbase import running
from bench.race import QUESTIONS, compare, fastest_ms, record_into_both
from bench.race_questions import KINDS
from bench.race_workload import Shape, Workload
from bench.report import print_figure

MS_MAX = {"reach": 30, "causal": 25, "consumption": 80}


def bench(sizes: Sequence[int]) -> None:
    """Print how long each kind of question takes, after the second size. Raises DifferentAnswers."""
    workload, size = Workload(Shape()), sizes[1]
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "hbase") as hbase,
        record_into_both(workload, size, Path(folder), url=hbase.create_table("race")) as competitors,
    ):
        for kind in KINDS:
            questions = kind.questions(workload, competitors.contents, QUESTIONS)
            compare(competitors, kind, questions)
            times = [
                fastest_ms(time.perf_counter, partial(kind.ask_store, competitors.client, question))[0]
                for question in questions
            ]
            target = f"at most {MS_MAX[kind.name]}" if kind.name in MS_MAX else ""
            print_figure(f"{kind.name}, {size:,} runs on HBase, p50", median(times), "ms", target=target)
