"""The first migration makes each table whole, so that nothing is copied and rendered again at the first start."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.db import connection, models
from django.db.migrations import operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState

from scripts.initial_migration import APP, NAME, fold

migration = import_module(f"applyviz.{APP}.migrations.{NAME}").Migration


def test_every_table_is_made_at_once():
    assert [one for one in migration.operations if not isinstance(one, operations.CreateModel)] == []


def test_models_are_built_once_for_all_tables(monkeypatch):
    rendered = []
    render = ModelState.render

    def count(state: ModelState, apps: object) -> type[models.Model]:
        rendered.append(state.name_lower)
        return render(state, apps)

    state = MigrationLoader(None).project_state(("auth", "0012_alter_user_first_name_max_length"))
    assert state.apps.get_models()
    monkeypatch.setattr(ModelState, "render", count)
    editor = connection.schema_editor(collect_sql=True)
    editor.deferred_sql = []
    made = migration(NAME, APP).apply(state, editor)

    assert {model.name_lower for model in migration.operations} <= set(rendered)
    assert len(rendered) == len(set(rendered))
    assert made.apps.get_model(APP, "plan")
    assert sum("CREATE TABLE" in sql for sql in editor.collected_sql) == len(migration.operations)


def fold_all(made: list[Operation]) -> list[Any]:
    """Return the folded operations, as any type."""
    return list(fold(made))


def table(name, **fields):
    key = ("id", models.AutoField(primary_key=True))
    return operations.CreateModel(name, [key, *fields.items()], options={})


def refer(name):
    return models.ForeignKey(f"{APP}.{name}", on_delete=models.PROTECT)


def test_parts_that_are_added_later_are_in_the_table():
    index = models.Index(fields=["size"], name="by_size")
    unique = models.UniqueConstraint(fields=["size"], name="one_size")
    made = [
        table("Leaf", size=models.IntegerField()),
        table("Tree"),
        operations.AddField("leaf", "tree", refer("Tree")),
        operations.AddIndex("leaf", index),
        operations.AddConstraint("leaf", unique),
    ]

    tree, leaf = fold_all(made)

    assert (tree.name, leaf.name) == ("Tree", "Leaf")
    assert [name for name, _ in leaf.fields] == ["id", "size", "tree"]
    assert leaf.options == {"indexes": [index], "constraints": [unique]}


def test_table_that_refers_back_is_given_its_field_later():
    back = operations.AddField("tree", "first", refer("Leaf"))

    tree, leaf, rest = fold_all([table("Tree"), table("Leaf", tree=refer("Tree")), back])

    assert (tree.name, leaf.name) == ("Tree", "Leaf")
    assert rest is back
