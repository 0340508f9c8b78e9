"""People beyond their accounts: teams, grants of roles, accounts of one human, failed sign-ins.

The record shows which grants were in force at any time: memberships and grants are ended, never changed or deleted
(`records/trigger_rules.py`), so that the roles of any past day are known.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import LimitKind, Role
from applyviz.records.pending_enums import PendingKind, PendingState


class Team(models.Model):
    """A named group of people; policies and grants refer to its slug."""

    slug = models.SlugField(unique=True, max_length=63)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """A membership in a team from one time to another; the other fields are those of a grant."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="members")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    is_sole = models.BooleanField(default=False)
    entry = models.OneToOneField("records.AuditEntry", on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "person"], condition=models.Q(ended_at=None), name="one_membership_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.team_id}"


class Grant(models.Model):
    """A role for a person or a team, on the clusters and namespaces that match two patterns.

    - Patterns: `*` matches any text, `?` one character; every other character itself.
    - Cluster-scoped objects are covered only if `is_cluster_scoped` says so.
    - `confirmed_by` is the second administrator. `is_sole`: there had only ever been one when it was granted.
    - `by` is None for a grant by a command on the machine.
    - `entry` is the audit entry that records it; a row without a valid `mac` gives no right
      (`workflow/foundation/row_macs.py`).
    """

    role = models.CharField(max_length=16, choices=Role.choices)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="grants")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="grants")
    cluster_pattern = models.CharField(max_length=63, default="*")
    namespace_pattern = models.CharField(max_length=63, default="*")
    is_cluster_scoped = models.BooleanField(default=True)
    since = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    is_sole = models.BooleanField(default=False)
    entry = models.OneToOneField("records.AuditEntry", on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(person=None, team__isnull=False) | models.Q(person__isnull=False, team=None),
                name="grant_to_a_person_or_a_team",
            )
        ]
        indexes = [models.Index(fields=["person", "ended_at"], name="grant_by_person")]

    def __str__(self) -> str:
        return f"{self.role} on {self.cluster_pattern}/{self.namespace_pattern}"


class PendingChange(models.Model):
    """A change of permissions that a second administrator must confirm before it takes effect.

    - `given` is the input of the use case, by ids and names; `summary` describes it for people.
    """

    kind = models.CharField(max_length=16, choices=PendingKind.choices)
    given = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=PendingState.choices, default=PendingState.WAITING)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.kind} by {self.asked_by_id}"


class AccountClaim(models.Model):
    """A one-time link by which an invited person sets a password; the database contains only its hash."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="claims")
    token_hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"link for {self.person_id}"


class OpenSession(models.Model):
    """A session of a person, so that they can end their other sessions; `session_key` is the hash of its key."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="open_sessions")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.CharField(max_length=45, blank=True)
    agent = models.CharField(max_length=120, blank=True)
    started_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"session of {self.person_id}"


class AccountLink(models.Model):
    """Accounts with the same `human` belong to one person, for every rule that requires another person.

    - `counted_as` names who the account counts as among all people who were ever administrators. A link never changes
      it for an administrator: two of them stay two, whatever is linked later.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="link"
    )
    human = models.CharField(max_length=80, db_index=True)
    counted_as = models.CharField(max_length=80, blank=True, default="")

    def __str__(self) -> str:
        return f"{self.person_id} is {self.human}"


class AccountMac(models.Model):
    """The MACs of what an account signs in with and who it belongs to (`workflow/foundation/account_macs.py`)."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="account_mac"
    )
    macs = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"MACs of {self.person_id}"


class SignInLimit(models.Model):
    """Failed sign-ins of a bucket; the number of buckets is fixed, so that no count is ever evicted."""

    kind = models.CharField(max_length=8, choices=LimitKind.choices)
    bucket = models.PositiveIntegerField()
    failures = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "bucket"], name="one_row_per_bucket")]

    def __str__(self) -> str:
        return f"{self.kind} {self.bucket}: {self.failures}"
