"""An apply run: the results of its objects, and the journal with one entry per request.

A worker owns a run while its lease lasts and its epoch is the row's; a worker that lost it writes nothing. A further
attempt of a failed run continues its journal.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models

from applyviz.engine.objects.json_text import DocumentDecoder, DocumentEncoder
from applyviz.records.enums import EntryState, Outcome, RolloutState, RunState
from applyviz.records.fields import SealedField
from applyviz.records.models.plans import ObjectChange, Plan


class ApplyRun(models.Model):
    """The execution of one approved plan; a plan is run once.

    - `needed` approvals were required when it was created: no worker can pick it up until they are spent on it.
    - `rules` are frozen at its start: what happens after a failure, how many objects are applied concurrently, what the
      run waits for.
    - `attempt` counts from 1; each further one has a `RunAttempt`.
    - `watch_at`: the run only waits for rollouts and has no worker; when they are checked again. Else None.
    - `reads` are those before the first object: discovery and schemas, as {path, status, at}.
    """

    number = models.PositiveIntegerField(unique=True)
    plan = models.OneToOneField(Plan, on_delete=models.PROTECT, related_name="run")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=16, choices=RunState.choices, default=RunState.QUEUED)
    epoch = models.PositiveIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=1)
    lease_until = models.DateTimeField(null=True)
    watch_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    canceled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    needed = models.PositiveSmallIntegerField(default=1)
    rules = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    reads = models.JSONField(default=list)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-number"]
        indexes = [models.Index(fields=["state", "lease_until"], name="run_by_state")]

    def __str__(self) -> str:
        return f"run {self.number}"

    @property
    def is_finished(self) -> bool:
        """Whether the run is final: no worker will change it again."""
        return self.state not in RunState.unfinished()

    def is_lost(self, now: datetime) -> bool:
        """Return whether its worker stopped responding, or gave it back because it had to stop."""
        is_expired = self.lease_until is not None and self.lease_until < now
        return self.state == RunState.APPLYING and self.watch_at is None and is_expired


class RunAttempt(models.Model):
    """A further attempt of a failed run, for some of its objects; never changed, never deleted.

    - `number` is 2 for the first retry; `first_epoch` is the epoch of its first worker.
    - `before` holds what it retries, by position: {outcome, detail, differences, rollout, rollout_detail}, masked.
    - `error` and `ended_at` are those of the attempt before it.
    - Without a valid `mac` it writes nothing (`workflow/foundation/row_macs.py`).
    """

    run = models.ForeignKey(ApplyRun, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    first_epoch = models.PositiveIntegerField()
    before = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    ended_at = models.DateTimeField()
    created_at = models.DateTimeField()
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="one_row_per_attempt")]

    def __str__(self) -> str:
        return f"attempt {self.number} of run {self.run_id}"


class ObjectResult(models.Model):
    """The outcome of one object of a run.

    - `detail` is one sentence.
    - `checked` is the {uid, resourceVersion} at which the effect was found to be the approved one ({} for absent, None:
      not checked yet).
    - `rollout` says whether its rollout is done, if the run waits for it; `rollout_at` since when. `watched_from` is
      when a retry began to wait again, None for the write itself.
    - `attempt` is the last attempt of the run that it took part in; `addon_attempt` is 2 once the addon of a kOps
      channel that it belongs to tried it again within that attempt.
    - `differences` are masked: {path, promised, got} if the answer differs, {path, reviewed, live} if stale.
    - `owners` is what comparing the field owners found: {state, fields: {owner: number of fields}}; {} if not compared.
    - `reads` are the reads of the object after its last request, or without one: {path, status, at}.
    - `pods` is the last known state of the pods of a workload: {new, ready, wanted, problems, unread}.
    - `server_ahead` is how far the clock of the API server was ahead of ours at the end, None if that is not known.
    """

    run = models.ForeignKey(ApplyRun, on_delete=models.PROTECT, related_name="results")
    change = models.ForeignKey(ObjectChange, on_delete=models.PROTECT, related_name="results")
    position = models.PositiveIntegerField()
    step = models.PositiveIntegerField()
    outcome = models.CharField(max_length=24, choices=Outcome.choices, default=Outcome.WAITING)
    detail = models.TextField(blank=True)
    checked = models.JSONField(null=True)
    differences = models.JSONField(default=list)
    owners = models.JSONField(default=dict)
    reads = models.JSONField(default=list)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    server_ahead = models.DurationField(null=True)
    rollout = models.CharField(max_length=16, choices=RolloutState.choices, default=RolloutState.NONE, blank=True)
    rollout_detail = models.TextField(blank=True)
    rollout_at = models.DateTimeField(null=True)
    watched_from = models.DateTimeField(null=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    addon_attempt = models.PositiveSmallIntegerField(default=1)
    pods = models.JSONField(default=dict)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["run", "change"], name="one_result_per_change")]

    def __str__(self) -> str:
        return f"{self.outcome} {self.change_id}"


class RolloutSample(models.Model):
    """The number of ready pods of a workload from one time on: one row per change, at most some hundred per run."""

    result = models.ForeignKey(ObjectResult, on_delete=models.PROTECT, related_name="samples")
    at = models.DateTimeField()
    new = models.PositiveIntegerField()
    ready = models.PositiveIntegerField()
    wanted = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.new} of {self.wanted} new pods ready"


class JournalEntry(models.Model):
    """One request of a run: recorded as an intent before it is sent, completed when it is answered.

    - `part` counts the requests of the object change; a request that is sent again has several entries.
    - `before` is the {uid, resourceVersion} of the object when it was sent, {} for absent.
    - `reads` are the reads of the object since the request before it: {path, status, at}, and `skipped` between two.
    - `request` and `answer` are masked; `sealed_request` and `sealed_answer` contain the bytes.
    - `request_digest` is keyed over the bytes that were sent.
    - `took_effect` is None while it is unknown whether the request changed the object.
    - `sent_at` and `answered_at` are of our clock, the times in `answer` of that of the API server; `server_ahead` is
      how far that was ahead of ours, by this answer or the one before, None if no answer named a time.
    """

    result = models.ForeignKey(ObjectResult, on_delete=models.PROTECT, related_name="journal")
    sequence = models.PositiveIntegerField()
    part = models.PositiveIntegerField()
    epoch = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=EntryState.choices, default=EntryState.INTENT)
    purpose = models.CharField(max_length=20)
    method = models.CharField(max_length=8)
    path = models.TextField()
    query = models.JSONField(default=dict)
    content_type = models.CharField(max_length=80, blank=True)
    before = models.JSONField(default=dict)
    reads = models.JSONField(default=list)
    request = models.JSONField(null=True, encoder=DocumentEncoder, decoder=DocumentDecoder)
    sealed_request = SealedField(null=True, bound_to=("result_id", "sequence"))
    request_digest = models.CharField(max_length=80)
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(null=True, encoder=DocumentEncoder, decoder=DocumentDecoder)
    sealed_answer = SealedField(null=True, bound_to=("result_id", "sequence"))
    warnings = models.JSONField(default=list)
    note = models.TextField(blank=True)
    took_effect = models.BooleanField(null=True)
    sent_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    server_ahead = models.DurationField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["result", "sequence"], name="one_entry_per_sequence")]

    def __str__(self) -> str:
        return f"{self.method} {self.path} → {self.status or self.state}"
