"""A PostgreSQL server of our own, in a temporary folder, on a socket; no port is taken."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

CONNECTIONS = 6  # at a time


class NoServerError(Exception):
    """There is none to start here; the text says what to do."""


def binaries() -> str | None:
    """The folder of the server's programs: Debian's newest, or the one on the PATH."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    folders.sort(key=lambda folder: int(Path(folder).parent.name), reverse=True)
    if on_path := shutil.which("postgres"):
        folders.append(os.path.dirname(os.path.realpath(on_path)))
    programs = ("initdb", "postgres")
    return next((f for f in folders if all(os.access(f"{f}/{p}", os.X_OK) for p in programs)), None)


def ordinary_user() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise NoServerError("PostgreSQL does not run as root, and there is no user postgres or nobody")


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a server that lives as long as the context."""
    folder = binaries()
    if folder is None:
        raise NoServerError("no PostgreSQL server here; to test with one: apt-get install postgresql")
    user = ordinary_user()
    # A file for what the server says: a pipe that nobody reads would be full one day, and stop it.
    with tempfile.TemporaryDirectory(prefix="dpdistinct-") as home, tempfile.TemporaryFile() as said:
        if user:
            os.chown(home, user["user"], user["group"])
        data = f"{home}/data"
        settings: dict[str, Any] = {
            "cwd": home,
            "stdout": subprocess.DEVNULL,
            "stderr": said,
            # Not the library of a sanitizer that is put before Python: the server would hang behind it.
            "env": {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
            **user,
        }
        subprocess.run(
            [f"{folder}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            check=True,
            **settings,
        )
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"max_connections={CONNECTIONS}"]
        process = subprocess.Popen([f"{folder}/postgres", "-D", data, "-k", home, *options], **settings)
        try:
            url = f"postgresql://tester@/postgres?host={home}"
            wait_until_ready(url, process, said)
            yield url
        finally:
            process.terminate()
            process.wait()


def wait_until_ready(url: str, process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    from adbc_driver_postgresql import dbapi

    for _ in range(1200):
        if process.poll() is not None:
            said.seek(0)
            raise AssertionError(said.read().decode())
        try:
            dbapi.connect(url).close()
            return
        except dbapi.Error:
            time.sleep(0.1)
    raise AssertionError("the PostgreSQL server did not start in two minutes")
