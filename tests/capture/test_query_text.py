"""Queries of JDBC sources as the listener writes them: without constants and comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .golden_dumps import ROOT

pytestmark = pytest.mark.java

LISTENER = ROOT / "fll_hbase" / "capture" / "listener"
POSTGRES, MYSQL = "jdbc:postgresql://db/shop", "jdbc:mysql://db/shop"

QUERIES = {
    (POSTGRES, "SELECT a1, 42, -1.5e3, 'x' FROM t1 LIMIT 10"): "SELECT a1, 0, -0, '' FROM t1 LIMIT 0",
    (POSTGRES, "SELECT 'it''s' , 'secret'"): "SELECT '' , ''",
    (POSTGRES, "SELECT 'x--y'\n, 'secret' -- it's\nFROM \"t 1\""): "SELECT ''\n, ''  \nFROM \"t 1\"",
    (POSTGRES, "SELECT /* it's */ 'secret' /* 'secret"): "SELECT   ''  ",
    (POSTGRES, "SELECT 'C:\\', 'secret'"): "SELECT '', ''",
    (POSTGRES, "SELECT E'a\\'secret', $$secret$$, $t$ 'secret' $t$"): "SELECT '', '', ''",
    (POSTGRES, "SELECT \"it's\", 'secret'"): "SELECT \"it's\", ''",
    (POSTGRES, "SELECT 'an open secret"): "SELECT ''",
    (POSTGRES, "GROUP BY 1, 2 ORDER BY 2 DESC, 13 LIMIT 5"): "GROUP BY 1, 2 ORDER BY 2 DESC, 13 LIMIT 0",
    (POSTGRES, "ORDER BY 4711, 1.5"): "ORDER BY 0, 0",
    (MYSQL, "SELECT \"secret\", 'it\\'s secret', `na'me`"): "SELECT '', '', `na'me`",
    (POSTGRES, ""): "",
}

# A single file: a program that cleans each pair of URL and query of its input.
PROGRAM = r"""
import java.io.*;
import java.util.regex.*;
public class Program {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        String line;
        while ((line = lines.readLine()) != null) {
            String[] parts = line.split("\t", -1);
            String query = QueryText.clean(parts[1].replace((char) 1, (char) 10), parts[0]);
            System.out.println(query.replace((char) 10, (char) 1));
        }
    }
}
"""


def clean(folder: Path, queries: list[tuple[str, str]]) -> list[str]:
    """Clean queries in a process of Java; the listener's class needs nothing of Spark."""
    text = (LISTENER / "QueryText.java").read_text(encoding="utf-8")
    program = folder / "Program.java"
    code = "\n".join(line for line in text.splitlines() if not line.startswith("import "))
    program.write_text(f"{PROGRAM}{code}", encoding="utf-8")
    lines = [f"{url}\t{query}".replace("\n", "\1") for url, query in queries]
    done = subprocess.run(
        ["java", str(program)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [line.replace("\1", "\n") for line in done.stdout.split("\n")[:-1]]


def test_queries_have_no_constants(tmp_path: Path) -> None:
    """Long ones need no deep stack: the patterns do not go back."""
    text, numbers = "''a" * 100_000, ", 22" * 100_000
    long = [(url, f"SELECT '{text}', 7 ORDER BY 1{numbers} x") for url in (POSTGRES, MYSQL)]
    cleaned = clean(tmp_path, [*QUERIES, *long])
    assert dict(zip(QUERIES, cleaned, strict=False)) == QUERIES
    assert not any(constant in text for text in cleaned for constant in ("secret", "7"))
    assert [text.count("''") for text in cleaned[-2:]] == [1, 1]
