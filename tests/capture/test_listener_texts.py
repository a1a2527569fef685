"""Queries and URLs as the listener writes them: without constants, comments and credentials."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.capture.golden_dumps import ROOT

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

JDBC_URLS = {
    "jdbc:postgresql://joe:sesame@db:5432/shop?user=joe&password=sesame": "jdbc:postgresql://db:5432/shop",
    "jdbc:postgresql://db/shop?user=joe@corp.com": "jdbc:postgresql://db/shop",
    "jdbc:postgresql://[::1]:5432/shop": "jdbc:postgresql://[::1]:5432/shop",
    "jdbc:postgresql://a:1,b:2/shop": "jdbc:postgresql://a:1,b:2/shop",
    "jdbc:mysql://joe:se/sa?me@db/shop": "jdbc:mysql://db/shop",
    "jdbc:mysql://joe:sesame@a:1,joe:sesame@b:2/shop": "jdbc:mysql://b:2/shop",
    "jdbc:mysql://address=(host=db)(user=joe)(password=sesame)/shop": "jdbc:mysql://",
    "jdbc:mysql://(host=db,user=joe,password=sesame)/shop": "jdbc:mysql://",
    "jdbc:sqlserver://db:1433;user=joe;password=sesame;databaseName=shop": (
        "jdbc:sqlserver://db:1433;databaseName=shop"
    ),
    "jdbc:oracle:thin:joe/sesame@db:1521:shop": "jdbc:oracle:thin:@db:1521:shop",
    "jdbc:oracle:thin:joe/sesame@//db:1521/shop": "jdbc:oracle:thin:@//db:1521/shop",
    "jdbc:oracle:thin:joe/ses;a?me@db:1521:shop": "jdbc:oracle:thin:@db:1521:shop",
    "jdbc:oracle:thin:@//db:1521/shop": "jdbc:oracle:thin:@//db:1521/shop",
    "jdbc:db2://db:50000/shop:password=sesame;user=joe;": "jdbc:db2://db:50000/shop",
    "jdbc:teradata://db/DATABASE=shop,USER=joe,PASSWORD=sesame": "jdbc:teradata://db/",
    "jdbc:hive2://db:10000/shop;user=joe;password=sesame": "jdbc:hive2://db:10000/shop",
    "jdbc:bigquery://https://google:443;ProjectId=p;OAuthPvtKey=sesame;Email=joe@x": (
        "jdbc:bigquery://https://google:443"
    ),
    "jdbc:derby:/data/day=1/shop;create=true;user=joe;password=sesame": "jdbc:derby:/data/day=1/shop",
}

PATHS = {
    "s3a://key:sesame@bucket/a": "s3a://bucket/a",
    "s3a://joe@bucket/a": "s3a://bucket/a",
    "s3a://joe:ses/ame@bucket/a": "s3a://bucket/a",
    "s3a://bucket/a:b@c": "s3a://bucket/a:b@c",
    "hdfs://name:8020/a@b": "hdfs://name:8020/a@b",
    "sftp://joe:sesame@host:22/a": "sftp://host:22/a",
    "abfss://container@account.dfs.core.windows.net/a": "abfss://container@account.dfs.core.windows.net/a",
    "https://account.blob.core.windows.net/a.csv?sig=sesame": "https://account.blob.core.windows.net/a.csv",
    "file:/data/day=1/a@b?c": "file:/data/day=1/a@b?c",
    "/data/a@b": "/data/a@b",
}

# A single file: a program that cleans each pair of URL and query of its input, or a text of another kind.
PROGRAM = r"""
import java.io.*;
import java.util.regex.*;
public class Program {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        String line;
        while ((line = lines.readLine()) != null) {
            String[] parts = line.split("\t", -1);
            String text = clean(parts[0], parts[1].replace((char) 1, (char) 10));
            System.out.println(text.replace((char) 10, (char) 1));
        }
    }
    static String clean(String kind, String text) {
        if (kind.equals("name")) {
            return String.valueOf(QueryText.isName(text));
        }
        if (kind.equals("path")) {
            return Urls.path(text);
        }
        return kind.equals("url") ? Urls.jdbc(text) : QueryText.clean(text, kind);
    }
}
"""


def clean(folder: Path, texts: list[tuple[str, str]]) -> list[str]:
    """Clean texts in a process of Java, each with its kind; these classes need nothing of Spark."""
    code = ""
    for name in ("QueryText", "Urls"):
        text = (LISTENER / f"{name}.java").read_text(encoding="utf-8")
        code += "\n".join(line for line in text.splitlines() if not line.startswith("import "))
    program = folder / "Program.java"
    program.write_text(f"{PROGRAM}{code}", encoding="utf-8")
    lines = [f"{kind}\t{text}".replace("\n", "\1") for kind, text in texts]
    done = subprocess.run(
        ["java", str(program)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=300,
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


def test_urls_and_paths_have_no_credentials(tmp_path: Path) -> None:
    texts = [*(("url", url) for url in JDBC_URLS), *(("path", path) for path in PATHS)]
    cleaned = clean(tmp_path, texts)
    assert dict(zip((text for _, text in texts), cleaned, strict=True)) == JDBC_URLS | PATHS
    assert not any(secret in text for text in cleaned for secret in ("joe", "sesame", "key"))


def test_names_of_tables_are_no_queries(tmp_path: Path) -> None:
    """Everything else is written as a query, whose constants are removed."""
    names = ["orders", "shop.orders", '"my orders"', "`my orders`", "[dbo].[my orders]", "größe", "t$1"]
    others = ["orders o", "(SELECT 1)", "/* sesame */ orders", "orders--sesame", "f('sesame')", "a\nb"]
    assert clean(tmp_path, [("name", text) for text in names]) == ["true"] * len(names)
    assert clean(tmp_path, [("name", text) for text in others]) == ["false"] * len(others)
