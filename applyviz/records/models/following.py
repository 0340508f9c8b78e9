"""Reviews that follow a branch: who switched it on, pushes that git hosts report, and the people behind commits."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.fields import SealedField
from applyviz.records.git_enums import (
    EditorRole,
    FollowEnd,
    FollowOutcome,
    ForgeKind,
    HistoryGap,
    IdentityKind,
    PushResult,
)
from applyviz.records.models.plans import Plan
from applyviz.records.models.reviews import Review


class PushWebhook(models.Model):
    """An address of ours that a git host calls after pushes to one repository.

    - `identifier` is the random part of the address. `location` is host and path of the repository, without `.git`.
    - `secret` is shown once; None once the webhook was removed.
    """

    identifier = models.CharField(max_length=64, unique=True)
    repository = models.CharField(max_length=1000)
    location = models.CharField(max_length=1000, db_index=True)
    forge = models.CharField(max_length=16, choices=ForgeKind.choices)
    secret = SealedField(null=True, bound_to=("identifier",))
    secret_at = models.DateTimeField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["location", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["location"], condition=models.Q(archived_at=None), name="one_push_webhook_per_repository"
            )
        ]

    def __str__(self) -> str:
        return self.location


class PushDelivery(models.Model):
    """One delivery of a git host; a worker verifies it.

    - `content` holds headers and body until then. `body_mark` is the keyed digest of the body, `identifier` the id that
      the host gives a delivery: both are known before only for deliveries that were genuine.
    - `pusher` is the account at the host, for pages; `reviews` are the numbers of those that it concerns.
    """

    webhook = models.ForeignKey(PushWebhook, on_delete=models.PROTECT, related_name="deliveries")
    identifier = models.CharField(max_length=100, blank=True)
    body_mark = models.CharField(max_length=64)
    content = SealedField(null=True, bound_to=("webhook_id", "identifier", "body_mark", "received_at"))
    state = models.CharField(max_length=16, choices=PushResult.choices, default=PushResult.WAITING)
    reason = models.CharField(max_length=300, blank=True)
    branch = models.CharField(max_length=250, blank=True)
    commit = models.CharField(max_length=64, blank=True)
    pusher = models.CharField(max_length=200, blank=True)
    reviews = models.JSONField(default=list)
    received_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["webhook", "state"], name="push_by_state")]

    def __str__(self) -> str:
        return f"{self.identifier} {self.state}"


class BranchPush(models.Model):
    """A genuine push to a branch: the commit before and after it, and the account that pushed.

    - `login` is the name at the git host, `email` its address; "" if the host does not send it.
    - Only a push with a valid `mac` explains commits (`workflow/foundation/row_macs.py`).
    """

    delivery = models.OneToOneField(PushDelivery, on_delete=models.SET_NULL, null=True, related_name="push")
    location = models.CharField(max_length=1000)
    branch = models.CharField(max_length=250)
    before = models.CharField(max_length=64, blank=True)
    after = models.CharField(max_length=64)
    name = models.CharField(max_length=200, blank=True)
    login = models.CharField(max_length=400, blank=True)
    email = models.CharField(max_length=320, blank=True)
    at = models.DateTimeField()
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["location", "branch", "after"], name="push_by_commit")]

    def __str__(self) -> str:
        return f"{self.branch} at {self.after}"


class Following(models.Model):
    """A review that follows a branch, as long as `ended_at` is None; its plans are requested by `by`.

    - `first_commit` is that of the plan at which it began.
    - `due_at`: when to fetch (next), None while nothing waits. `attempts` counts failed fetches since the last push.
    - A following without a valid `mac` requests nothing (`workflow/foundation/row_macs.py`).
    - `lease_until`, `epoch` let another worker take over. `outcome`, `commit`, `detail` are of the last fetch.
    """

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="followings")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    repository = models.CharField(max_length=1000)
    location = models.CharField(max_length=1000)
    branch = models.CharField(max_length=250)
    first_commit = models.CharField(max_length=64)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=20, choices=FollowEnd.choices, blank=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    successor = models.ForeignKey(Review, on_delete=models.PROTECT, null=True, related_name="+")
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    epoch = models.PositiveIntegerField(default=0)
    pushed_at = models.DateTimeField(null=True)
    pushed_commit = models.CharField(max_length=64, blank=True)
    pusher = models.CharField(max_length=200, blank=True)
    checked_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, choices=FollowOutcome.choices, blank=True)
    commit = models.CharField(max_length=64, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["review"], condition=models.Q(ended_at=None), name="one_following_per_review"
            )
        ]
        indexes = [
            models.Index(fields=["location", "branch", "ended_at"], name="following_by_branch"),
            models.Index(fields=["due_at"], name="following_due"),
        ]

    def __str__(self) -> str:
        return f"review {self.review_id} follows {self.branch}"


class CommitRange(models.Model):
    """The commits whose people count as editors of a plan: those since the last approved one.

    - `base` is the commit of that plan, "" if there is none; `gap` says why not all commits are known.
    - `commits` are the ids, newest first; `graph` has the parents of each commit that is known.
    - `first_commit`: commits up to it were chosen by a person, not pushed to us.
    - `people` are authors and committers, each [role, name, email, login, commit], as in `CommitEditor`; with `mac`,
      which proves all of this, rows of that table only add people.
    """

    plan = models.OneToOneField(Plan, on_delete=models.PROTECT, primary_key=True, related_name="commit_range")
    location = models.CharField(max_length=1000)
    branch = models.CharField(max_length=250)
    base = models.CharField(max_length=64, blank=True)
    base_plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, related_name="+")
    first_commit = models.CharField(max_length=64)
    commits = models.JSONField(default=list)
    graph = models.JSONField(default=dict)
    people = models.JSONField(default=list)
    gap = models.CharField(max_length=16, choices=HistoryGap.choices, blank=True)
    mac = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"commits of plan {self.plan_id}"


class CommitEditor(models.Model):
    """One person behind the commits of a plan, as git or its host names them.

    - `email` is the address without parts that do not change its mailbox, `login` is `HOST/NAME`; "" if unknown.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="commit_editors")
    role = models.CharField(max_length=16, choices=EditorRole.choices)
    name = models.CharField(max_length=200)
    email = models.CharField(max_length=320, blank=True)
    login = models.CharField(max_length=400, blank=True)
    commit = models.CharField(max_length=64)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "role", "email", "login", "name", "commit"], name="one_editor_per_commit"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.role} of {self.commit}"


class CommitIdentity(models.Model):
    """An email address or an account at a git host that belongs to a person; claimed first, then verified.

    - An ended identity no longer lets anybody claim to be matched, but its person stays an editor of the commits.
    - `token_hash` and `token_until`: the one-time link that was mailed; `mail_due_at`: when to mail it.
    - It is verified only with a valid `mac` (`workflow/foundation/row_macs.py`).
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="commit_identities")
    kind = models.CharField(max_length=16, choices=IdentityKind.choices)
    value = models.CharField(max_length=400)
    since = models.DateTimeField()
    verified_at = models.DateTimeField(null=True)
    verified_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    token_hash = models.CharField(max_length=64, blank=True)
    token_until = models.DateTimeField(null=True)
    mail_due_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["kind", "value", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "value"],
                condition=models.Q(ended_at=None, verified_at__isnull=False),
                name="one_person_per_identity",
            ),
            models.UniqueConstraint(
                fields=["person", "kind", "value"], condition=models.Q(ended_at=None), name="one_claim_per_identity"
            ),
        ]
        indexes = [models.Index(fields=["kind", "value"], name="identity_by_value")]

    def __str__(self) -> str:
        return f"{self.value} of {self.person_id}"
