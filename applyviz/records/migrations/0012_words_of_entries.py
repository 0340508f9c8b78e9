from django.db import migrations

from applyviz.records.words import collect_words

COLUMNS = ("action", "actor_name", "cluster", "kind", "namespace", "name", "field_manager", "plan_digest", "request_id")
BATCH = 500


def fill_words(apps, schema_editor):
    """Entries that were written before there was a full text search."""
    entries = apps.get_model("records", "AuditEntry").objects.using(schema_editor.connection.alias)
    last = 0
    while rows := list(entries.filter(id__gt=last, words="").order_by("id")[:BATCH]):
        for row in rows:
            row.words = collect_words((getattr(row, name) for name in COLUMNS), row.detail)
        entries.bulk_update(rows, ["words"])
        last = rows[-1].id


class Migration(migrations.Migration):
    dependencies = [("records", "0011_history_by_chain")]

    operations = [migrations.RunPython(fill_words, migrations.RunPython.noop)]
