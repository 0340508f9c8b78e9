"""A PostgreSQL database with the two roles of a team installation, made by `scripts/database_roles.sql`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psycopg

ROOT = Path(__file__).parents[2]
ROLES = ROOT / "scripts" / "database_roles.sql"
OWNER, APP = "applyviz_owner", "applyviz_app"


def url_of(role: str, superuser: str) -> str:
    """The address of the same database for another role."""
    return superuser.replace("//applyviz@", f"//{role}@")


def make_roles(superuser: str) -> None:
    """Make both roles in an empty database."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(ROLES.read_text())


def run_with(keys: Mapping[str, str], database: str, *command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python with the keys of an installation on a database; fail if it fails."""
    environment = {**keys, "DATABASE_URL": database}
    done = subprocess.run(
        [sys.executable, *command], env=environment, cwd=ROOT, input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done


def migrate(keys: Mapping[str, str], superuser: str) -> str:
    """Make the roles and the tables; the address for the ordinary role."""
    make_roles(superuser)
    run_with(keys, url_of(OWNER, superuser), "manage.py", "migrate", "--noinput", "-v", "0")
    return url_of(APP, superuser)
