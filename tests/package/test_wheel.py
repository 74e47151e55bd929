"""The package as others get it: sources that build, and a wheel that needs no compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, path: str = os.environ["PATH"]) -> str:
    """What the command prints, when programs are looked for in this path."""
    environment = os.environ | {"PATH": path}
    done = subprocess.run(
        list(map(str, command)), env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


@pytest.mark.slow
def test_the_wheel_installs_and_counts_without_a_compiler(tmp_path: Path) -> None:
    dist, user = tmp_path / "dist", tmp_path / "user"
    run("make", "wheel", f"PYTHON={sys.executable}", f"VENV={tmp_path / 'tools'}", f"DIST={dist}")
    (wheel,) = dist.glob("*.whl")  # built from the source distribution beside it
    assert len(list(dist.glob("*.tar.gz"))) == 1
    assert "-linux_" not in wheel.name  # auditwheel found which systems have what it needs
    folders = {name.split("/")[0].partition("-")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert folders <= {"dpdistinct", "dpdistinct.libs"}

    run(sys.executable, "-m", "venv", user)
    programs = str(user / "bin")  # and no others
    assert not any(shutil.which(name, path=programs) for name in ("g++", "c++", "clang++", "cmake"))
    run(user / "bin/pip", "install", "--only-binary", ":all:", wheel, path=programs)
    table = tmp_path / "visits.csv"
    table.write_text("who,site\n" + "".join(f"{i % 50},{i}\n" for i in range(5000)))
    asked = ("--person", "who", "--element", "site", "--epsilon", "5")
    assert "distinct values of site" in run(user / "bin/dpdistinct", "count", table, *asked, path=programs)
