"""A PostgreSQL server of our own, in a folder that goes with it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PASSWORD = "s3cret sauce"
_NEEDED = "PRUDENT_NEEDS_POSTGRES"
"""Set where its absence is a failure: in CI, which installs it."""


def programs() -> Path | None:
    """The folder of initdb and postgres; Debian does not put it on the path."""
    found = shutil.which("initdb")
    folders = [
        *([Path(found).parent] if found else []),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    ]
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of an empty database, with its password."""
    folder = programs()
    if folder is None:
        assert os.environ.get(_NEEDED, "") in ("", "0"), f"{_NEEDED} is set, and there is no PostgreSQL server"
        pytest.skip("no PostgreSQL server is installed here")
    with served(folder) as url:
        yield url


@contextmanager
def served(programs: Path) -> Iterator[str]:
    # the server refuses to run as root, and pytest's own folders may be entered by root alone
    owner = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    place = Path(tempfile.mkdtemp(prefix="prudent-postgres-"))
    try:
        (place / "password").write_text(PASSWORD)
        if owner:
            for path in (place, place / "password"):
                shutil.chown(path, owner["user"], owner["group"])
        how = {"check": True, "capture_output": True, "cwd": place, **owner}
        made = ("--username=ward", f"--pwfile={place / 'password'}", "--auth=scram-sha-256", "--no-sync", "--no-locale")
        subprocess.run([programs / "initdb", f"--pgdata={place / 'data'}", *made, "--encoding=UTF8"], **how)
        # only a socket in its own folder: no port that another process might take
        settings = f"-c listen_addresses='' -c unix_socket_directories='{place}' -c fsync=off"
        control = [programs / "pg_ctl", f"--pgdata={place / 'data'}", "--wait"]
        subprocess.run([*control, f"--log={place / 'log'}", f"--options={settings}", "start"], **how)
        try:
            yield f"postgresql://ward:{PASSWORD.replace(' ', '%20')}@/postgres?host={place}"
        finally:
            subprocess.run([*control, "--mode=immediate", "stop"], **how)
    finally:
        shutil.rmtree(place, ignore_errors=True)
