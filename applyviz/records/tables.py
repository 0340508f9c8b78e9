"""A migration that only creates tables: Django builds the models once instead of after each table."""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import Migration
from django.db.migrations.state import ProjectState


class TableMigration(Migration):
    """A migration whose operations each create a table, after the tables that it refers to."""

    def apply(
        self, project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
    ) -> ProjectState:
        """Create the tables and return the state with them.

        The copied state has no built models, so Django does not rebuild all of them after each table. If the SQL is
        only collected, Django's own method does it.
        """
        if collect_sql:
            return super().apply(project_state, schema_editor, collect_sql)
        made = project_state.clone()
        vars(made).pop("apps", None)
        self.mutate_state(made, preserve=False)
        for operation in self.operations:
            operation.database_forwards(self.app_label, schema_editor, project_state, made)
        return made
