from django.db import migrations

from applyviz.records.full_text import collect_words

COLUMNS = ("action", "actor_name", "cluster", "kind", "namespace", "name", "field_manager", "plan_digest", "request_id")
BATCH = 2_000


def fill_words(apps, schema_editor):
    """Entries that were written before there was a full text search; by plain statements, a history may be long."""
    connection = schema_editor.connection
    entries = apps.get_model("records", "AuditEntry").objects.using(connection.alias).filter(words="").order_by("id")
    rows = entries.values_list("id", "detail", *COLUMNS)
    last = 0
    while page := list(rows.filter(id__gt=last)[:BATCH]):
        found = [(collect_words(columns, detail), number) for number, detail, *columns in page]
        with connection.cursor() as cursor:
            cursor.executemany("UPDATE records_auditentry SET words = %s WHERE id = %s", found)
        last = page[-1][0]


class Migration(migrations.Migration):
    dependencies = [("records", "0011_history_by_chain")]

    operations = [migrations.RunPython(fill_words, migrations.RunPython.noop)]
