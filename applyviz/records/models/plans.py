"""A plan and its object changes; immutable once complete (enforced by `records/trigger_rules.py`).

Each change is stored twice: masked, for everything that is shown, and sealed, only for the sender.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.engine.objects.json_text import DocumentDecoder, DocumentEncoder
from applyviz.records.enums import PlanState
from applyviz.records.fields import SealedField
from applyviz.records.models.reviews import Review, Target
from applyviz.records.models.sources import SourceRevision


class Plan(models.Model):
    """All object changes of one source revision against one cluster at one time.

    - `digest` is keyed; `digest_key_id` names the key. Equal digests share their approvals.
    - `decisions` are the resolutions that it applies: {object, path, manager, resolution}.
    - `identity` is the impersonated user of its requests and its run: {user, groups}, {} the cluster's own credential;
      `account` is the account of that credential in the cluster: {user, groups}, {} if the cluster does not report it.
    - `denied` lists the writes for which that identity lacks permission.
    - `rules` are the conflict rules that were active on its cluster when it was planned.
    - `masking` says what was masked besides Secrets when it was planned.
    - `tag_key` is the key of the tags by which masked values are compared within this plan.
    - `counts` is {operation: number}; `problems` what could not be read, each {reason, file, line, column}.
    - `compared` lists the Secrets that are compared with live, each [namespace, name, position, operation]; None until
      the plan is complete.
    - `seal` is the MAC of every stored byte that a run uses, `risk_seal` that of the risks, `summary_seal` that of what
      pages say of the whole plan (`workflow/plans/plan_mac.py`).
    - `policy_version` names the policies that the digest is bound to, each with its version; `policy_digest` is the
      digest of their content.
    - `authors` are the accounts that wrote or requested it or an earlier plan of its review; `followed` is host and
      path of the repository whose commits are recorded for it, "" for none; `mac` proves both
      (`workflow/foundation/row_macs.py`).
    - `lease_until` and `epoch` let another worker take over lost planning.
    - `server_ahead` is how far the clock of the API server, which the times of live objects go by, was ahead of ours;
      None if no answer named a time.
    """

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="plans")
    target = models.ForeignKey(Target, on_delete=models.PROTECT, related_name="plans")
    revision = models.ForeignKey(SourceRevision, on_delete=models.PROTECT, related_name="plans")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=PlanState.choices, default=PlanState.PLANNING)
    options = models.JSONField()
    decisions = models.JSONField(default=list)
    rules = models.JSONField(default=list)
    identity = models.JSONField(default=dict)
    account = models.JSONField(default=dict)
    denied = models.JSONField(default=list)
    masking = models.JSONField(default=dict)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    authors = models.JSONField(default=list)
    followed = models.CharField(max_length=1000, blank=True)
    mac = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=80, blank=True, db_index=True)
    digest_key_id = models.CharField(max_length=40, blank=True)
    tag_key = SealedField(bound_to=("review_id", "number"))
    cluster_uid = models.CharField(max_length=80, blank=True)
    policy_version = models.TextField(blank=True)
    policy_digest = models.CharField(max_length=64, blank=True)
    counts = models.JSONField(default=dict)
    compared = models.JSONField(null=True)
    seal = models.CharField(max_length=64, blank=True)
    risk_seal = models.CharField(max_length=64, blank=True)
    summary_seal = models.CharField(max_length=64, blank=True)
    problems = models.JSONField(default=list)
    error = models.TextField(blank=True)
    expected = models.PositiveIntegerField(default=0)
    epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    server_ahead = models.DurationField(null=True)

    class Meta:
        ordering = ["review_id", "number"]
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="one_plan_per_number")]

    def __str__(self) -> str:
        return f"plan {self.number} of review {self.review_id}"


class PlanDetails(models.Model):
    """The parts of a complete plan that concern the whole plan, for its pages; lists of plans do not load them.

    - `impact` is a `PlanSummary`, `overview` an `Overview`, `quotas` a list of `QuotaLine`, as the engine writes them.
    - `staying` lists the objects that a prune leaves; `forecast` is that of another tool's apply, None for a plan that
      applyviz applies itself.
    - `graph` and `owners` are compressed: the graph of the objects, and the field owners of each.
    """

    plan = models.OneToOneField(Plan, on_delete=models.PROTECT, primary_key=True, related_name="details")
    impact = models.JSONField()
    overview = models.JSONField()
    quotas = models.JSONField()
    staying = models.JSONField()
    forecast = models.JSONField(null=True)
    graph = models.BinaryField()
    owners = models.BinaryField()

    def __str__(self) -> str:
        return f"details of plan {self.plan_id}"


class ObjectChange(models.Model):
    """The change of one object in a plan.

    - `document` is the masked JSON for pages, exports and audit, `found_risks` the masked risks, to which the whole set
      may add; `sealed` is the complete change without risks.
    - `file` is that of its manifest, as pages name it; "" for an object that is in none.
    - `risk_levels` has kind and level of each of its risks (`workflow/policies/risks.py`).
    - `effect` is the keyed hash of what this change does; the runner compares it with live.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="changes")
    position = models.PositiveIntegerField()
    step = models.PositiveIntegerField(default=0)
    group = models.CharField(max_length=253, blank=True)
    version = models.CharField(max_length=63)
    kind = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    file = models.TextField(blank=True)
    operation = models.CharField(max_length=20)
    method = models.CharField(max_length=40, blank=True)
    certainty = models.CharField(max_length=20)
    has_effect = models.BooleanField()
    conflicts = models.PositiveIntegerField(default=0)
    risks = models.PositiveIntegerField(default=0)
    highest_risk = models.CharField(max_length=16, blank=True)
    risk_levels = models.JSONField(default=list)
    error = models.TextField(blank=True)
    effect = models.CharField(max_length=80)
    document = models.JSONField(encoder=DocumentEncoder, decoder=DocumentDecoder)
    found_risks = models.JSONField(default=list, encoder=DocumentEncoder, decoder=DocumentDecoder)
    sealed = SealedField(bound_to=("plan_id", "group", "version", "kind", "namespace", "name", "effect"))

    class Meta:
        ordering = ["position"]
        indexes = [
            models.Index(fields=["plan", "position"], name="change_by_position"),
            models.Index(fields=["group", "kind", "namespace", "name"], name="change_by_object"),
            models.Index(fields=["name", "kind"], name="change_by_name"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.kind} {self.namespace}/{self.name}"
