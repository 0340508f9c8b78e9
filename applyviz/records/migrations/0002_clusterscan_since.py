from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("records", "0001_initial")]

    operations = [
        migrations.AddField(model_name="clusterscan", name="since", field=models.DateTimeField(null=True)),
    ]
