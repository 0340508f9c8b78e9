from django.db import migrations, models


def move_head(apps, schema_editor):
    """The one head there was is that of the global chain, which is number 0."""
    heads = apps.get_model("records", "AuditHead").objects.using(schema_editor.connection.alias)
    heads.filter(chain=1).update(chain=0)


def let_words_in(apps, schema_editor):
    """The guards come back after the migration; they would refuse the words of older entries."""
    with schema_editor.connection.cursor() as cursor:
        table = " ON records_auditentry" if schema_editor.connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER IF EXISTS audit_no_update{table}")


class Migration(migrations.Migration):
    dependencies = [("records", "0009_undoing")]

    operations = [
        migrations.RenameField("audithead", "id", "chain"),
        migrations.AlterField(
            "audithead", "chain", models.PositiveBigIntegerField(default=0, primary_key=True, serialize=False)
        ),
        migrations.AddField("audithead", "anchored", models.PositiveBigIntegerField(default=0)),
        migrations.AddField("audithead", "anchored_at", models.DateTimeField(null=True)),
        migrations.RunPython(move_head, migrations.RunPython.noop),
        migrations.RunPython(let_words_in, migrations.RunPython.noop),
    ]
