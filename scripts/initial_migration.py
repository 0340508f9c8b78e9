"""Regenerate the initial migration from the models. Until the first release it is the only one.

Django's own `makemigrations` makes a table first and adds its indexes, constraints and some of its foreign keys later.
For most of these, SQLite copies the table and Django rebuilds all models: 12 s of CPU time at the first start. This
script creates each table once, with all its parts, after the tables that it refers to.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command
from django.db.migrations import operations
from django.db.migrations.operations.base import Operation
from django.db.migrations.writer import MigrationWriter
from django.db.models import Field

from applyviz.records.tables import TableMigration

ROOT = Path(__file__).resolve().parent.parent
APP = "records"
NAME = "0001_initial"
FILE = ROOT / "applyviz" / APP / "migrations" / f"{NAME}.py"


def main() -> int:
    """Regenerate the migration from the current models."""
    os.chdir(ROOT)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "applyviz.settings")
    django.setup()
    FILE.unlink(missing_ok=True)
    call_command("makemigrations", APP, name=NAME.partition("_")[2], verbosity=0)
    made = import_module(f"applyviz.{APP}.migrations.{NAME}").Migration
    folded = type("Migration", (made,), {"operations": fold(made.operations)})
    FILE.write_text(make_whole(MigrationWriter(folded(NAME, APP)).as_string()))
    ruff = str(Path(sys.executable).with_name("ruff"))
    for command in ("check --fix", "format"):
        subprocess.run([ruff, *command.split(), "--quiet", str(FILE)], check=True)
    return 0


def make_whole(text: str) -> str:
    """Return the text of a migration as one whose tables are made with models that are built once."""
    imports, module = "from django.db import migrations, models", TableMigration.__module__
    named = text.replace("(migrations.Migration)", f"({module}.{TableMigration.__name__})")
    return named.replace(imports, f"{imports}\nimport {module}")


def fold(made: Sequence[Operation]) -> list[Operation]:
    """Return operations with the same result: each table with its fields, indexes and constraints, then what is left.

    - `made`: what `makemigrations` writes for an app without tables.

    A field that refers to a table which itself refers back is left: it is added when both are there.
    """
    tables = {one.name_lower: one for one in made if isinstance(one, operations.CreateModel)}
    rest = [one for one in made if not isinstance(one, operations.CreateModel) and not _take(tables, one)]
    return [*_sort(tables), *rest]


def _take(tables: dict[str, operations.CreateModel], added: Operation) -> bool:
    """Put a field, an index or a constraint into its table; return whether it is there now."""
    match added:
        case operations.AddField() if not _leads_to(tables, _find_target(added.field), added.model_name_lower):
            tables[added.model_name_lower].fields.append((added.name, added.field))
        case operations.AddIndex():
            tables[added.model_name_lower].options.setdefault("indexes", []).append(added.index)
        case operations.AddConstraint():
            tables[added.model_name_lower].options.setdefault("constraints", []).append(added.constraint)
        case _:
            return False
    return True


def _refer(table: operations.CreateModel) -> Iterator[str]:
    """Yield the names of the app's tables that the fields of this one refer to."""
    for _, field in table.fields:
        name = _find_target(field)
        if name and name != table.name_lower:
            yield name


def _find_target(field: Field[Any, Any]) -> str:
    """Return the name of the app's table that a field refers to, "" for none; migrations name tables by texts."""
    app, _, name = (str(field.remote_field.model) if field.remote_field else "").lower().partition(".")
    return name if app == APP else ""


def _leads_to(tables: dict[str, operations.CreateModel], start: str, end: str) -> bool:
    """Return whether a table refers to another one, by way of others too."""
    seen, waiting = set[str](), [start]
    while waiting:
        name = waiting.pop()
        if name == end:
            return True
        if name in tables and name not in seen:
            seen.add(name)
            waiting += _refer(tables[name])
    return False


def _sort(tables: dict[str, operations.CreateModel]) -> list[Operation]:
    """Return the tables, each after those that it refers to."""
    found: dict[str, Operation] = {}

    def add(name: str) -> None:
        if name not in found:
            for other in _refer(tables[name]):
                add(other)
            found[name] = tables[name]

    for name in tables:
        add(name)
    return list(found.values())


if __name__ == "__main__":
    sys.exit(main())
