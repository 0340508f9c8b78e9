import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import applyviz.records.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AccountLink",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="link",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("human", models.CharField(db_index=True, max_length=80)),
            ],
        ),
        migrations.CreateModel(
            name="ChainEnd",
            fields=[
                ("chain", models.PositiveBigIntegerField(default=0, primary_key=True, serialize=False)),
                ("sequence", models.PositiveBigIntegerField(default=0)),
                (
                    "hash",
                    models.CharField(
                        default="0000000000000000000000000000000000000000000000000000000000000000", max_length=64
                    ),
                ),
                ("anchored", models.PositiveBigIntegerField(default=0)),
                ("anchored_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=63, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("kind", models.CharField(choices=[("sandbox", "sandbox"), ("live", "live")], max_length=16)),
                ("server", models.CharField(blank=True, max_length=400)),
                ("credential", applyviz.records.fields.SealedField(null=True)),
                ("token_hash", models.CharField(blank=True, max_length=64)),
                ("uid", models.CharField(blank=True, max_length=80)),
                ("account", models.JSONField(blank=True, default=dict)),
                ("version", models.CharField(blank=True, max_length=40)),
                ("masks_credentials", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
                ("paused_at", models.DateTimeField(null=True)),
                ("pause_reason", models.CharField(blank=True, max_length=400)),
                ("archived_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="ObjectChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("step", models.PositiveIntegerField(default=0)),
                ("group", models.CharField(blank=True, max_length=253)),
                ("version", models.CharField(max_length=63)),
                ("kind", models.CharField(max_length=253)),
                ("namespace", models.CharField(blank=True, max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("operation", models.CharField(max_length=20)),
                ("method", models.CharField(blank=True, max_length=40)),
                ("certainty", models.CharField(max_length=20)),
                ("has_effect", models.BooleanField()),
                ("conflicts", models.PositiveIntegerField(default=0)),
                ("risks", models.PositiveIntegerField(default=0)),
                ("highest_risk", models.CharField(blank=True, max_length=16)),
                ("high_risks", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
                ("effect", models.CharField(max_length=80)),
                ("document", models.JSONField()),
                ("sealed", applyviz.records.fields.SealedField()),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.CreateModel(
            name="OutboxMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("task", models.CharField(max_length=60)),
                ("ids", models.JSONField()),
                ("created_at", models.DateTimeField()),
                ("sent_at", models.DateTimeField(db_index=True, null=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="PlaygroundInput",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64, unique=True)),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="Policy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=63, unique=True)),
                ("number", models.PositiveIntegerField(default=0)),
                ("archived_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=63, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("created_at", models.DateTimeField()),
                ("archived_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="AccountClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="claims", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("read", "View reviews and runs"),
                            ("plan", "Create reviews and plans"),
                            ("apply", "Start approved runs"),
                        ],
                        max_length=8,
                    ),
                ),
                ("hint", models.CharField(max_length=16)),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(null=True)),
                ("last_used_from", models.CharField(blank=True, max_length=45)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("minute", models.PositiveBigIntegerField(default=0)),
                ("asked", models.PositiveIntegerField(default=0)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revoked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ApplyRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "queued"),
                            ("running", "applying"),
                            ("succeeded", "applied"),
                            ("failed", "failed"),
                            ("stale", "stale"),
                            ("canceled", "canceled"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                ("needed", models.PositiveSmallIntegerField(default=1)),
                ("rules", models.JSONField(default=dict)),
                ("summary", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "canceled_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain", models.PositiveBigIntegerField(default=0)),
                ("sequence", models.PositiveBigIntegerField()),
                ("at", models.DateTimeField(db_index=True)),
                ("action", models.CharField(max_length=40)),
                ("actor_name", models.CharField(max_length=150)),
                ("roles", models.CharField(blank=True, max_length=400)),
                ("session", models.CharField(blank=True, max_length=20)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("agent", models.CharField(blank=True, max_length=120)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("cluster", models.CharField(blank=True, max_length=63)),
                ("review", models.PositiveIntegerField(null=True)),
                ("plan", models.PositiveIntegerField(null=True)),
                ("run", models.PositiveIntegerField(null=True)),
                ("group", models.CharField(blank=True, max_length=253)),
                ("kind", models.CharField(blank=True, max_length=253)),
                ("namespace", models.CharField(blank=True, max_length=253)),
                ("name", models.CharField(blank=True, max_length=253)),
                ("field_manager", models.CharField(blank=True, max_length=128)),
                ("plan_digest", models.CharField(blank=True, max_length=80)),
                ("detail", models.JSONField(default=dict)),
                ("salt", models.CharField(blank=True, max_length=32)),
                ("detail_hash", models.CharField(blank=True, max_length=64)),
                ("words", models.TextField(blank=True)),
                ("pruned_by", models.PositiveBigIntegerField(null=True)),
                ("previous_hash", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64, unique=True)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="SandboxState",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sandbox",
                        serialize=False,
                        to="records.cluster",
                    ),
                ),
                ("revision", models.BigIntegerField(default=0)),
                ("compacted", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="ClusterScan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("objects_read", models.PositiveIntegerField(default=0)),
                ("is_cut", models.BooleanField(default=False)),
                ("unread", models.JSONField(default=list)),
                ("problem", models.TextField(blank=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="scans", to="records.cluster"
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="LiveFinding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64)),
                (
                    "sort",
                    models.CharField(
                        choices=[
                            ("changed", "changed outside review"),
                            ("drifted", "drifted"),
                            ("missing", "deleted outside review"),
                            ("unreviewed", "unmanaged"),
                        ],
                        max_length=16,
                    ),
                ),
                ("group", models.CharField(blank=True, max_length=253)),
                ("version", models.CharField(blank=True, max_length=63)),
                ("kind", models.CharField(max_length=253)),
                ("namespace", models.CharField(blank=True, max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("manager", models.CharField(blank=True, max_length=128)),
                ("operation", models.CharField(blank=True, max_length=16)),
                ("subresource", models.CharField(blank=True, max_length=63)),
                ("changed_at", models.DateTimeField(null=True)),
                ("fields", models.JSONField(default=list)),
                ("run", models.PositiveIntegerField(null=True)),
                ("first_seen", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                ("gone_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="findings", to="records.cluster"
                    ),
                ),
            ],
            options={
                "ordering": ["kind", "namespace", "name", "id"],
            },
        ),
        migrations.CreateModel(
            name="NotificationChoice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("review.needs_you", "A review needs you"),
                            ("plan.approved", "A plan was approved"),
                            ("plan.changes_requested", "Changes were requested"),
                            ("approvals.dropped", "Approvals no longer apply"),
                            ("approvals.expiring", "An approval expires soon"),
                            ("run.started", "An apply run started"),
                            ("run.finished", "An apply run finished"),
                            ("run.failed", "An apply run failed"),
                            ("run.needs_attention", "An apply run needs attention"),
                            ("run.stale", "A plan is stale"),
                            ("emergency.applied", "An emergency apply started"),
                            ("history.published", "A checkpoint was published"),
                            ("webhook.tried", "A webhook was tested"),
                        ],
                        max_length=40,
                    ),
                ),
                ("is_shown", models.BooleanField()),
                ("is_mailed", models.BooleanField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="NotificationEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80, unique=True)),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("review.needs_you", "A review needs you"),
                            ("plan.approved", "A plan was approved"),
                            ("plan.changes_requested", "Changes were requested"),
                            ("approvals.dropped", "Approvals no longer apply"),
                            ("approvals.expiring", "An approval expires soon"),
                            ("run.started", "An apply run started"),
                            ("run.finished", "An apply run finished"),
                            ("run.failed", "An apply run failed"),
                            ("run.needs_attention", "An apply run needs attention"),
                            ("run.stale", "A plan is stale"),
                            ("emergency.applied", "An emergency apply started"),
                            ("history.published", "A checkpoint was published"),
                            ("webhook.tried", "A webhook was tested"),
                        ],
                        max_length=40,
                    ),
                ),
                ("facts", models.JSONField(default=dict)),
                ("is_quiet", models.BooleanField(default=False)),
                ("at", models.DateTimeField()),
                (
                    "entry",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="happenings",
                        to="records.auditentry",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_shown", models.BooleanField(default=True)),
                ("read_at", models.DateTimeField(null=True)),
                ("mail_due_at", models.DateTimeField(null=True)),
                ("mail_attempts", models.PositiveSmallIntegerField(default=0)),
                ("mailed_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notifications",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "notification_event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notifications",
                        to="records.notificationevent",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ObjectResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("step", models.PositiveIntegerField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("waiting", "not attempted"),
                            ("applying", "applying"),
                            ("applied and verified", "applied"),
                            ("applied but differs", "applied · live differs"),
                            ("unchanged", "unchanged"),
                            ("refused", "refused"),
                            ("stale", "stale"),
                            ("failed", "failed"),
                            ("unknown", "unknown"),
                            ("not reached", "not attempted"),
                            ("skipped", "left out"),
                        ],
                        default="waiting",
                        max_length=24,
                    ),
                ),
                ("detail", models.TextField(blank=True)),
                ("checked", models.JSONField(null=True)),
                ("differences", models.JSONField(default=list)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "rollout",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "not watched"),
                            ("waiting", "rolling out"),
                            ("ready", "ready"),
                            ("failed", "failed"),
                            ("late", "timed out"),
                            ("given up", "no longer watched"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                ("rollout_detail", models.TextField(blank=True)),
                ("rollout_at", models.DateTimeField(null=True)),
                (
                    "change",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="results", to="records.objectchange"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="results", to="records.applyrun"
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.CreateModel(
            name="JournalEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sequence", models.PositiveIntegerField()),
                ("part", models.PositiveIntegerField()),
                ("epoch", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("intent", "not sent yet"),
                            ("answered", "answered"),
                            ("resolved", "determined from live state"),
                        ],
                        default="intent",
                        max_length=16,
                    ),
                ),
                ("purpose", models.CharField(max_length=20)),
                ("method", models.CharField(max_length=8)),
                ("path", models.TextField()),
                ("query", models.JSONField(default=dict)),
                ("content_type", models.CharField(blank=True, max_length=80)),
                ("before", models.JSONField(default=dict)),
                ("request", models.JSONField(null=True)),
                ("sealed_request", applyviz.records.fields.SealedField(null=True)),
                ("request_digest", models.CharField(max_length=80)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("answer", models.JSONField(null=True)),
                ("sealed_answer", applyviz.records.fields.SealedField(null=True)),
                ("warnings", models.JSONField(default=list)),
                ("note", models.TextField(blank=True)),
                ("sent_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="journal", to="records.objectresult"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="OpenSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("agent", models.CharField(blank=True, max_length=120)),
                ("started_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="open_sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="PendingChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("grant", "grant a role"),
                            ("member", "add to a team"),
                            ("end grant", "remove a grant"),
                            ("end member", "remove from a team"),
                            ("archive team", "archive a team"),
                            ("deactivate", "deactivate an account"),
                            ("activate", "reactivate an account"),
                        ],
                        max_length=16,
                    ),
                ),
                ("given", models.JSONField(default=dict)),
                ("told", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting for a second administrator"),
                            ("confirmed", "confirmed"),
                            ("declined", "declined"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "answered_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Plan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("planning", "planning"), ("complete", "complete"), ("failed", "failed")],
                        default="planning",
                        max_length=16,
                    ),
                ),
                ("options", models.JSONField()),
                ("decisions", models.JSONField(default=list)),
                ("rules", models.JSONField(default=list)),
                ("identity", models.JSONField(default=dict)),
                ("account", models.JSONField(default=dict)),
                ("denied", models.JSONField(default=list)),
                ("masking", models.JSONField(default=dict)),
                ("digest", models.CharField(blank=True, db_index=True, max_length=80)),
                ("digest_key_id", models.CharField(blank=True, max_length=40)),
                ("tag_key", applyviz.records.fields.SealedField()),
                ("cluster_uid", models.CharField(blank=True, max_length=80)),
                ("policy_version", models.TextField(blank=True)),
                ("counts", models.JSONField(default=dict)),
                ("summary", models.JSONField(default=dict)),
                ("problems", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
                ("expected", models.PositiveIntegerField(default=0)),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("completed_at", models.DateTimeField(null=True)),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["review_id", "number"],
            },
        ),
        migrations.AddField(
            model_name="objectchange",
            name="plan",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="changes", to="records.plan"
            ),
        ),
        migrations.CreateModel(
            name="EmergencyApply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=80)),
                ("by_name", models.CharField(max_length=150)),
                ("reason", models.TextField()),
                ("ticket", models.CharField(max_length=400)),
                ("missing", models.JSONField(default=list)),
                ("policy_version", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("mac", models.CharField(blank=True, max_length=64)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "entry",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="records.auditentry",
                    ),
                ),
                (
                    "plan",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="emergency_apply", to="records.plan"
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="ConflictRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "awaiting approval"),
                            ("in force", "in force"),
                            ("declined", "declined"),
                            ("revoked", "revoked"),
                        ],
                        default="proposed",
                        max_length=16,
                    ),
                ),
                ("group", models.CharField(blank=True, max_length=253)),
                ("kind", models.CharField(max_length=253)),
                ("namespace", models.CharField(blank=True, max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("path", models.TextField()),
                ("elements", models.JSONField()),
                ("manager", models.CharField(blank=True, max_length=128)),
                ("way", models.CharField(max_length=40)),
                ("reason", models.TextField()),
                ("proposed_at", models.DateTimeField()),
                ("agreed_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("end_note", models.TextField(blank=True)),
                (
                    "agreed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="rules", to="records.cluster"
                    ),
                ),
                (
                    "ended_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "proposed_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="records.plan"),
                ),
            ],
            options={
                "ordering": ["cluster_id", "number"],
            },
        ),
        migrations.CreateModel(
            name="ChangeRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=80)),
                ("note", models.TextField()),
                ("created_at", models.DateTimeField()),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="change_requests", to="records.plan"
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=80)),
                ("by_name", models.CharField(max_length=150)),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("spent_at", models.DateTimeField(null=True)),
                ("mac", models.CharField(blank=True, max_length=64)),
                ("is_sole", models.BooleanField(default=False)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to="records.applyrun",
                    ),
                ),
                (
                    "entry",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="records.auditentry",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="approvals", to="records.plan"
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.AddField(
            model_name="applyrun",
            name="plan",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="run", to="records.plan"
            ),
        ),
        migrations.CreateModel(
            name="PlannedSecretValue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("human", models.CharField(max_length=200)),
                ("namespace", models.CharField(max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("day", models.DateField()),
                ("value", models.CharField(max_length=64)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="records.cluster"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("cluster_pattern", models.CharField(default="*", max_length=63)),
                ("namespace_pattern", models.CharField(default="*", max_length=63)),
                ("is_cluster_scoped", models.BooleanField(default=True)),
                ("rules", models.JSONField(default=dict)),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="records.policy"
                    ),
                ),
            ],
            options={
                "ordering": ["policy", "-number"],
            },
        ),
        migrations.CreateModel(
            name="RetentionPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, unique=True)),
                ("days", models.PositiveIntegerField()),
                ("actions", models.JSONField(blank=True, default=list)),
                ("has_requests", models.BooleanField(default=False)),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(unique=True)),
                ("title", models.CharField(max_length=200)),
                ("reason", models.TextField(blank=True)),
                ("ticket", models.CharField(blank=True, max_length=400)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "open"),
                            ("applying", "applying"),
                            ("applied", "applied"),
                            ("closed", "closed"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                (
                    "applied_by",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "applyviz"),
                            ("helm", "Helm"),
                            ("argocd", "Argo CD"),
                            ("flux", "Flux"),
                            ("other", "another tool"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
            },
        ),
        migrations.CreateModel(
            name="Resolution",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("object_key", models.CharField(max_length=1100)),
                ("path", models.TextField(blank=True)),
                ("elements", models.JSONField(default=list)),
                ("manager", models.CharField(blank=True, max_length=128)),
                ("choice", models.CharField(max_length=40)),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="records.plan"),
                ),
                (
                    "undone_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="records.review"
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.AddField(
            model_name="plan",
            name="review",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="plans", to="records.review"
            ),
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("object_key", models.CharField(blank=True, max_length=1100)),
                ("path", models.TextField(blank=True)),
                ("text", models.TextField()),
                ("earlier", models.JSONField(default=list)),
                ("created_at", models.DateTimeField()),
                ("edited_at", models.DateTimeField(null=True)),
                ("resolved_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "resolved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comments",
                        to="records.plan",
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="comments", to="records.review"
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="Acknowledgement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("effect", models.CharField(max_length=80)),
                ("object_key", models.CharField(max_length=1100)),
                ("risk", models.CharField(max_length=40)),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="records.plan"),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="acknowledgements",
                        to="records.review",
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.CreateModel(
            name="ReviewScope",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("namespace", models.CharField(blank=True, max_length=253)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="records.cluster"
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="places", to="records.review"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SandboxChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("revision", models.BigIntegerField()),
                ("group", models.CharField(blank=True, max_length=253)),
                ("plural", models.CharField(max_length=253)),
                ("namespace", models.CharField(blank=True, max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("body", applyviz.records.fields.SealedField()),
                ("size", models.PositiveIntegerField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sandbox_changes",
                        to="records.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SandboxMeta",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120)),
                ("value", models.JSONField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sandbox_meta", to="records.cluster"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SandboxObject",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.CharField(blank=True, max_length=253)),
                ("plural", models.CharField(max_length=253)),
                ("namespace", models.CharField(blank=True, max_length=253)),
                ("name", models.CharField(max_length=253)),
                ("body", applyviz.records.fields.SealedField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sandbox_objects",
                        to="records.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ServiceAccount",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="service",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("purpose", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="services",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["person__username"],
            },
        ),
        migrations.CreateModel(
            name="SignInLimit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("name", "name"),
                            ("address", "address"),
                            ("pair", "name and address"),
                            ("visitor", "visitor of the playground"),
                            ("session", "session"),
                            ("comparer", "person who compares files"),
                        ],
                        max_length=8,
                    ),
                ),
                ("bucket", models.PositiveIntegerField()),
                ("failures", models.PositiveIntegerField(default=0)),
                ("since", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("kind", "bucket"), name="one_row_per_bucket")],
            },
        ),
        migrations.CreateModel(
            name="SourceRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(db_index=True, max_length=80)),
                ("salt", models.CharField(blank=True, max_length=32)),
                ("provenance", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SourceFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=400)),
                ("content", applyviz.records.fields.SealedField()),
                ("digest", models.CharField(max_length=80)),
                ("size", models.PositiveIntegerField()),
                ("provenance", models.JSONField(default=dict)),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="files", to="records.sourcerevision"
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.AddField(
            model_name="plan",
            name="revision",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="plans", to="records.sourcerevision"
            ),
        ),
        migrations.CreateModel(
            name="Target",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="targets", to="records.cluster"
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="targets", to="records.review"
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="plan",
            name="target",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="plans", to="records.target"
            ),
        ),
        migrations.CreateModel(
            name="IdentityMapping",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("user", models.CharField(max_length=253)),
                ("groups", models.JSONField(default=list)),
                ("note", models.TextField(blank=True)),
                ("since", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="mappings", to="records.cluster"
                    ),
                ),
                (
                    "ended_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mappings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mappings",
                        to="records.team",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "-number"],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("author", "author"),
                            ("approver", "approver"),
                            ("operator", "operator"),
                            ("administrator", "administrator"),
                            ("auditor", "auditor"),
                            ("break-glass", "break-glass"),
                        ],
                        max_length=16,
                    ),
                ),
                ("cluster_pattern", models.CharField(default="*", max_length=63)),
                ("namespace_pattern", models.CharField(default="*", max_length=63)),
                ("is_cluster_scoped", models.BooleanField(default=True)),
                ("since", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("is_sole", models.BooleanField(default=False)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "confirmed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "ended_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="grants", to="records.team"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="TeamMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("since", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("is_sole", models.BooleanField(default=False)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "confirmed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="members", to="records.team"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Undo",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("notes", models.JSONField(default=list)),
                ("moved", models.JSONField(default=dict)),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="undoes", to="records.review"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="undone_by", to="records.applyrun"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waiting for a worker"), ("done", "done"), ("failed", "failed")],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("results", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="verifications", to="records.plan"
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ViewedObject",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=80)),
                ("object_key", models.CharField(max_length=1100)),
                ("at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80)),
                ("url", models.CharField(max_length=1000)),
                ("secret", applyviz.records.fields.SealedField()),
                ("events", models.JSONField(default=list)),
                ("is_enabled", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField()),
                ("archived_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["name", "id"],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("identifier", models.UUIDField(unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "not attempted"), ("delivered", "delivered"), ("given up", "failed")],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField()),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "notification_event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="records.notificationevent",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="deliveries", to="records.webhook"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="WorkerRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("inventory", "the live objects of a cluster"),
                            ("holdings", "the fields of a field manager"),
                            ("state", "status and permissions"),
                            ("schema", "the schema of a field"),
                            ("compare", "the changes between two plans"),
                            ("adoption", "the live object as a manifest"),
                            ("adopt", "a review of a live object"),
                            ("undo", "a review that reverts a run"),
                            ("add cluster", "adding a cluster"),
                            ("credential", "replacing a credential"),
                            ("connection", "testing a connection"),
                            ("sandbox", "a request to a sandbox"),
                            ("secret access", "the Secrets that a person can read"),
                        ],
                        max_length=16,
                    ),
                ),
                ("key", models.CharField(db_index=True, max_length=64)),
                ("question", models.JSONField(default=dict)),
                ("sealed", applyviz.records.fields.SealedField(null=True)),
                ("reply_to", models.CharField(blank=True, max_length=80)),
                ("origin", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting for a worker"),
                            ("done", "done"),
                            ("refused", "refused"),
                            ("expired", "no worker responded in time"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("result", models.JSONField(null=True)),
                ("sealed_result", models.BinaryField(null=True)),
                ("reasons", models.JSONField(default=list)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(db_index=True)),
                ("expires_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="records.cluster"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["kind", "namespace", "name", "-id"], name="audit_by_object"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["namespace", "-id"], name="audit_by_namespace"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["name", "-id"], name="audit_by_name"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["actor_name", "-id"], name="audit_by_person"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["field_manager", "-id"], name="audit_by_manager"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["action", "-id"], name="audit_by_action"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["cluster", "-id"], name="audit_by_cluster"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["review"], name="audit_by_review"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["run"], name="audit_by_run"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                condition=models.Q(("pruned_by__isnull", False)), fields=["pruned_by"], name="audit_by_pruning"
            ),
        ),
        migrations.AddConstraint(
            model_name="auditentry",
            constraint=models.UniqueConstraint(fields=("chain", "sequence"), name="audit_one_per_place"),
        ),
        migrations.AddConstraint(
            model_name="cluster",
            constraint=models.UniqueConstraint(
                condition=models.Q(("uid", ""), _negated=True), fields=("uid",), name="one_cluster_per_identity"
            ),
        ),
        migrations.AddConstraint(
            model_name="clusterscan",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at", None)), fields=("cluster",), name="one_scan_at_a_time"
            ),
        ),
        migrations.AddIndex(
            model_name="livefinding",
            index=models.Index(fields=["cluster", "gone_at", "sort"], name="finding_by_state"),
        ),
        migrations.AddIndex(
            model_name="livefinding",
            index=models.Index(fields=["changed_at"], name="finding_by_time"),
        ),
        migrations.AddConstraint(
            model_name="livefinding",
            constraint=models.UniqueConstraint(fields=("cluster", "key"), name="one_finding_per_key"),
        ),
        migrations.AddConstraint(
            model_name="notificationchoice",
            constraint=models.UniqueConstraint(fields=("person", "event"), name="one_choice_per_event"),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(fields=["person", "is_shown", "read_at"], name="notification_unread"),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(fields=["mail_due_at"], name="notification_mail_due"),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.UniqueConstraint(fields=("notification_event", "person"), name="told_once"),
        ),
        migrations.AddConstraint(
            model_name="objectresult",
            constraint=models.UniqueConstraint(fields=("run", "change"), name="one_result_per_change"),
        ),
        migrations.AddConstraint(
            model_name="journalentry",
            constraint=models.UniqueConstraint(fields=("result", "sequence"), name="one_entry_per_sequence"),
        ),
        migrations.AddIndex(
            model_name="objectchange",
            index=models.Index(fields=["plan", "position"], name="change_by_position"),
        ),
        migrations.AddIndex(
            model_name="objectchange",
            index=models.Index(fields=["group", "kind", "namespace", "name"], name="change_by_object"),
        ),
        migrations.AddConstraint(
            model_name="conflictrule",
            constraint=models.UniqueConstraint(fields=("cluster", "number"), name="one_rule_per_number"),
        ),
        migrations.AddConstraint(
            model_name="conflictrule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("agreed_by", None),
                    models.Q(("agreed_by", models.F("proposed_by")), _negated=True),
                    _connector="OR",
                ),
                name="rule_needs_two_people",
            ),
        ),
        migrations.AddConstraint(
            model_name="conflictrule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "in force"), _negated=True), ("agreed_by__isnull", False), _connector="OR"
                ),
                name="rule_in_force_was_agreed",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.UniqueConstraint(
                condition=models.Q(("revoked_at", None)),
                fields=("plan", "digest", "by"),
                name="one_approval_per_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("revoked_at", None), ("spent_at", None), _connector="OR"),
                name="spent_is_not_revoked",
            ),
        ),
        migrations.AddIndex(
            model_name="applyrun",
            index=models.Index(fields=["state", "lease_until"], name="run_by_state"),
        ),
        migrations.AddConstraint(
            model_name="plannedsecretvalue",
            constraint=models.UniqueConstraint(
                fields=("human", "cluster", "namespace", "name", "day", "value"), name="one_value_a_day"
            ),
        ),
        migrations.AddConstraint(
            model_name="policyversion",
            constraint=models.UniqueConstraint(fields=("policy", "number"), name="one_version_per_number"),
        ),
        migrations.AddConstraint(
            model_name="acknowledgement",
            constraint=models.UniqueConstraint(
                condition=models.Q(("withdrawn_at", None)),
                fields=("review", "effect", "object_key", "risk", "by"),
                name="one_acknowledgement_per_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewscope",
            constraint=models.UniqueConstraint(fields=("review", "cluster", "namespace"), name="one_place_per_review"),
        ),
        migrations.AddConstraint(
            model_name="sandboxchange",
            constraint=models.UniqueConstraint(fields=("cluster", "revision"), name="one_sandbox_change_per_revision"),
        ),
        migrations.AddConstraint(
            model_name="sandboxmeta",
            constraint=models.UniqueConstraint(fields=("cluster", "name"), name="one_sandbox_value_per_name"),
        ),
        migrations.AddConstraint(
            model_name="sandboxobject",
            constraint=models.UniqueConstraint(
                fields=("cluster", "group", "plural", "namespace", "name"), name="one_sandbox_object_per_key"
            ),
        ),
        migrations.AddConstraint(
            model_name="sourcefile",
            constraint=models.UniqueConstraint(fields=("revision", "position"), name="one_file_per_position"),
        ),
        migrations.AddConstraint(
            model_name="target",
            constraint=models.UniqueConstraint(fields=("review", "cluster"), name="one_target_per_cluster"),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.UniqueConstraint(fields=("review", "number"), name="one_plan_per_number"),
        ),
        migrations.AddConstraint(
            model_name="identitymapping",
            constraint=models.UniqueConstraint(fields=("cluster", "number"), name="one_mapping_per_number"),
        ),
        migrations.AddConstraint(
            model_name="identitymapping",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None), ("person__isnull", False)),
                fields=("cluster", "person"),
                name="one_mapping_per_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="identitymapping",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None), ("team__isnull", False)),
                fields=("cluster", "team"),
                name="one_mapping_per_team",
            ),
        ),
        migrations.AddConstraint(
            model_name="identitymapping",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None), ("person", None), ("team", None)),
                fields=("cluster",),
                name="one_mapping_for_everybody",
            ),
        ),
        migrations.AddConstraint(
            model_name="identitymapping",
            constraint=models.CheckConstraint(
                condition=models.Q(("person", None), ("team", None), _connector="OR"),
                name="mapping_of_a_person_or_a_team",
            ),
        ),
        migrations.AddIndex(
            model_name="grant",
            index=models.Index(fields=["person", "ended_at"], name="grant_by_person"),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("person", None), ("team__isnull", False)),
                    models.Q(("person__isnull", False), ("team", None)),
                    _connector="OR",
                ),
                name="grant_to_a_person_or_a_team",
            ),
        ),
        migrations.AddConstraint(
            model_name="teammember",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("team", "person"), name="one_membership_at_a_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="viewedobject",
            constraint=models.UniqueConstraint(fields=("digest", "by", "object_key"), name="viewed_once"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["state", "due_at"], name="delivery_due"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("webhook", "notification_event"), name="delivered_once"),
        ),
    ]
