"""Malformed files at the command line: status 0 or 3, one line, no traceback, nothing of the rows.

Every row that is planted holds a token that cannot come from anywhere else. Names of columns are
public and hold none.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from dpdistinct.cli import main as cli

pytestmark = pytest.mark.long

SECRET = b"S3CR3T"
HEADER = b"user_id,url\n"
ROWS = b"".join(b"S3CR3T-u%d,https://S3CR3T.example/%d\n" % (i % 20, i) for i in range(200))
CSV = HEADER + ROWS
LINES = b"".join(b'{"user_id": "S3CR3T-u%d", "url": "S3CR3T/%d"}\n' % (i % 20, i) for i in range(200))


def frame() -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(CSV))


def parquet() -> bytes:
    buffer = io.BytesIO()
    frame().write_parquet(buffer, row_group_size=64)
    return buffer.getvalue()


def duckdb_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/t.duckdb") as connection:
            connection.register("rows", frame())
            connection.execute("CREATE TABLE visits AS FROM rows")
        return Path(folder, "t.duckdb").read_bytes()


def sqlite_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with closing(sqlite3.connect(f"{folder}/t.sqlite")) as database, database:
            database.execute("CREATE TABLE visits (user_id TEXT, url TEXT)")
            database.executemany("INSERT INTO visits VALUES (?, ?)", frame().rows())
        return Path(folder, "t.sqlite").read_bytes()


def truncated(dice: random.Random, whole: bytes) -> bytes:
    return whole[: dice.randrange(len(whole))]


def flipped(dice: random.Random, whole: bytes) -> bytes:
    """Some bytes are others."""
    changed = bytearray(whole)
    for _ in range(dice.choice((1, 2, 8, 64))):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def flipped_at_the_end(dice: random.Random, whole: bytes) -> bytes:
    """Where Parquet keeps its schema."""
    return whole[:-400] + flipped(dice, whole[-400:])


def spliced(dice: random.Random, whole: bytes) -> bytes:
    """A part is missing, or comes twice."""
    first, second = sorted(dice.randrange(len(whole)) for _ in range(2))
    return whole[:first] + whole[second:] if dice.random() < 0.5 else whole[:second] + whole[first:]


def noise(dice: random.Random, whole: bytes) -> bytes:
    """Random bytes, with the beginning and the end that the kind of file has."""
    middle = dice.randbytes(dice.choice((0, 1, 10, 1000, 40_000)))
    return whole[: dice.choice((0, 4, 16, 64))] + middle + whole[len(whole) - dice.choice((0, 4, 8, 64)) :]


def bad_rows(dice: random.Random, whole: bytes) -> bytes:
    """Lines that no parser likes, between good ones."""
    token = SECRET
    bad = [
        token,
        token + b"," * dice.randrange(1, 300),
        b'"' + token,
        token + b'","' + token,
        b'"' + token + b'"x,y',
        token + b",\xff\xfe",
        token + b",\0",
        token + b"\r" + token,
        b"",
        b"\t|;",
        b'{"user_id": "' + token,
        b'{"user_id": {"' + b"a" * 10 + b'": "' + token + b'"}, "url": 1}',
        b'["' + token + b'"]',
        b"{" * 2000,
        b"[" * 2000 + token,
        b'{"user_id": 1e99999, "url": -0, "url": "' + token + b'"}',
        "größe,".encode("latin-1") + token,
        (token.decode() + ",x").encode("utf-16"),
        token + b"," + b"x" * dice.choice((10, 100_000)),
        b"\xef\xbb\xbf" + token + b",x",
    ]
    lines = whole.split(b"\n")
    for _ in range(dice.randrange(1, 12)):
        lines.insert(dice.randrange(1, len(lines)), dice.choice(bad))
    return b"\n".join(lines)


def recoded(dice: random.Random, whole: bytes) -> bytes:
    text = whole.decode().replace("example", "größe")
    return text.encode(dice.choice(("latin-1", "utf-16", "utf-16-le", "utf-32", "cp037", "utf-8-sig")))


Change = Callable[[random.Random, bytes], bytes]
BINARY: list[Change] = [truncated, flipped, flipped_at_the_end, spliced, noise]
TEXT: list[Change] = [truncated, flipped, spliced, noise, bad_rows, bad_rows, recoded]
KINDS: dict[str, tuple[Callable[[], bytes], list[Change]]] = {
    ".csv": (lambda: CSV, TEXT),
    ".tsv": (lambda: CSV.replace(b",", b"\t"), TEXT),
    ".csv.gz": (lambda: gzip.compress(CSV), BINARY),
    ".csv.zst": (lambda: pa.compress(CSV, "zstd", asbytes=True), BINARY),
    ".jsonl": (lambda: LINES, TEXT),
    ".parquet": (parquet, BINARY),
    ".duckdb": (duckdb_file, BINARY),
    ".sqlite": (sqlite_file, BINARY),
}

Check = Callable[..., int]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Runs the command on a file and holds it to its promise; returns the status."""

    def check(path: Path | str, *options: str, command: str = "count") -> int:
        arguments = [
            command,
            str(path),
            "--person",
            "user_id",
            "--element",
            "url",
            "--threads",
            "1",
            *options,
        ]
        monkeypatch.setattr(sys, "argv", ["dpdistinct", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        shown = (out + err).replace(str(path), "")
        assert not re.search("s3cr3t", re.sub(r"[^0-9A-Za-z]", "", shown), re.IGNORECASE), shown
        assert "Traceback" not in shown
        if ended.value.code == 0:
            assert re.match(
                r"([\d,]+\nor more distinct values of url, with 95% |too little data\nat epsilon )", out
            )
            assert err == ""
        else:
            assert ended.value.code in (2, 3)
            assert out == ""
            assert re.fullmatch(r"dpdistinct: [^\n]+\n", err)
            assert "something went wrong inside" not in err
        return int(ended.value.code)

    return check


def assault(kind: str, seed: str, times: int, check: Check, folder: Path) -> set[int]:
    make, changes = KINDS[kind]
    whole, dice = make(), random.Random(seed + kind)
    path = folder / f"visits{kind}"
    statuses = set()
    for _ in range(times):
        path.write_bytes(dice.choice(changes)(dice, whole))
        try:
            statuses.add(check(path))
        except AssertionError as error:
            error.add_note(f"seed {seed!r}; the file is {path}")
            raise
    return statuses


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str, check: Check, tmp_path: Path) -> None:
    (tmp_path / f"whole{kind}").write_bytes(KINDS[kind][0]())
    assert check(tmp_path / f"whole{kind}") == 0
    assert assault(kind, "every day", 40, check, tmp_path) <= {0, 3}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_for_long(kind: str, check: Check, tmp_path: Path) -> None:
    seed = str(random.SystemRandom().randrange(2**32))
    assault(kind, seed, 1500, check, tmp_path)


@pytest.mark.parametrize("length", [*range(0, 16, 3), 100, -500, -100, -9, -8, -7, -4, -1])
def test_truncated_parquet(length: int, check: Check, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(parquet()[:length])
    assert check(tmp_path / "t.parquet") == 3


OTHER_FILES: dict[str, Callable[[], bytes]] = {
    **{f"empty{kind}": lambda: b"" for kind in KINDS},
    **{f"newlines{kind}": lambda: b"\n\n\n" for kind in KINDS},
    **{f"zeros{kind}": lambda: bytes(5000) for kind in KINDS},
    "header.csv": lambda: HEADER,
    "header-without-end.csv": lambda: HEADER[:-1],
    "twice.csv": lambda: b"user_id,url,url\n" + ROWS,
    "nameless.csv": lambda: b"user_id,,url\n" + ROWS,
    "only-commas.csv": lambda: b",,,\n" + ROWS,
    "open-quote-in-header.csv": lambda: b'user_id,"url\n' + ROWS,
    "open-quote.csv": lambda: HEADER + b'S3CR3T,"S3CR3T\n' + ROWS,
    "latin-1-header.csv": lambda: "user_id,url,größe\n".encode("latin-1") + ROWS.replace(b"\n", b",x\n"),
    "huge-header.csv": lambda: b"user_id,url," + b"x" * 3_000_000 + b"\n" + ROWS,
    "huge-field.csv": lambda: HEADER + b"S3CR3T," + b"S3CR3T" * 500_000 + b"\n" + ROWS,
    "huge-quoted-field.csv": lambda: HEADER + b'S3CR3T,"' + b"S3CR3T\n" * 500_000 + b'"\n' + ROWS,
    "huge-field.jsonl": lambda: LINES + b'{"user_id": "' + b"S3CR3T" * 4_000_000 + b'", "url": 1}\n' + LINES,
    "huge-field.json": lambda: b'[{"user_id": "' + b"S3CR3T" * 4_000_000 + b'", "url": 1}]',
    "deep.jsonl": lambda: b'{"user_id": 1, "url": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n" + LINES,
    "no-gzip.csv.gz": lambda: CSV,
    "no-zstd.csv.zst": lambda: CSV,
    "gzip-of-gzip.csv.gz": lambda: gzip.compress(gzip.compress(CSV)),
    "zip.csv": lambda: b"PK\x03\x04" + gzip.compress(CSV),
    "parquet.csv": lambda: parquet(),
    "csv.parquet": lambda: CSV,
    "json.csv": lambda: LINES,
    "csv.jsonl": lambda: CSV,
    "csv.duckdb": lambda: CSV,
    "csv.sqlite": lambda: CSV,
    "sqlite-magic.db": lambda: b"SQLite format 3\0" + CSV,
    "unknown.xlsx": lambda: CSV,
    "no-ending": lambda: CSV,
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_other_files(name: str, check: Check, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(OTHER_FILES[name]())
    check(tmp_path / name)


def test_queries_that_fail_on_the_data(check: Check, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(CSV)
    (tmp_path / "t.parquet").write_bytes(parquet())
    (tmp_path / "t.sqlite").write_bytes(sqlite_file())
    for name in ("t.csv", "t.parquet", "t.sqlite"):
        for sql in (
            "SELECT user_id, CAST(url AS INTEGER) AS url FROM data",
            "SELECT user_id, CAST(url AS DATE) AS url FROM data",
            "SELECT user_id, error(url) AS url FROM data",
            "SELECT user_id, json_extract(url, '$.a') AS url FROM data",
            "SELECT user_id, (SELECT url FROM data) AS url FROM data",
            "SELECT * FROM (PIVOT data ON url USING count(*))",
            "PIVOT data ON user_id USING count(*)",
            "SELECT user_id, nothing FROM data",
        ):
            check(tmp_path / name, "--sql", sql)


def test_folders_and_links(check: Check, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert check(tmp_path / "folder.csv") == 3
    (tmp_path / "loop.parquet").symlink_to("loop.parquet")
    assert check(tmp_path / "loop.parquet") == 3
    (tmp_path / "nowhere.csv").symlink_to("gone.csv")
    assert check(tmp_path / "nowhere.csv") == 3
    parts = tmp_path / "parts"
    (parts / "part=S3CR3T").mkdir(parents=True)
    (parts / "part=S3CR3T" / "t.parquet").write_bytes(parquet())
    (parts / "again").symlink_to(parts)
    assert check(parts) == 0
    (parts / "bad.parquet").write_bytes(parquet()[:-100])
    assert check(parts) == 3
