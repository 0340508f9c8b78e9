"""The enums of the database: kinds and states, each with its text for people."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class ClusterKind(models.TextChoices):
    """A sandbox, or a real API server."""

    SANDBOX = "sandbox", _("sandbox")
    LIVE = "live", _("live")


class ReviewState(models.TextChoices):
    """Whether the review is open."""

    OPEN = "open", _("open")
    APPLYING = "applying", _("applying")
    APPLIED = "applied", _("applied")
    CLOSED = "closed", _("closed")


class ReviewStatus(models.TextChoices):
    """The state of a review, derived by `workflow.approvals.plan_facts`; nothing stores it."""

    READING = "reading", _("reading")
    PLANNING = "planning", _("planning")
    PLAN_FAILED = "plan-failed", _("plan failed")
    NOTHING = "nothing-to-apply", _("nothing to apply")
    BLOCKED = "blocked", _("blocked")
    NEEDS_APPROVAL = "needs-approval", _("needs approval")
    CHANGES_REQUESTED = "changes-requested", _("changes requested")
    APPROVED = "approved", _("approved")
    APPLYING = "applying", _("applying")
    APPLIED = "applied", _("applied")
    APPLIED_ELSEWHERE = "applied-elsewhere", _("applied by another tool")
    FAILED = "failed", _("failed")
    STALE = "stale", _("stale")
    CANCELED = "canceled", _("canceled")
    SUPERSEDED = "superseded", _("superseded")
    CLOSED = "closed", _("closed")


class PlanState(models.TextChoices):
    """A plan is immutable once it is complete or failed."""

    PLANNING = "planning", _("planning")
    COMPLETE = "complete", _("complete")
    FAILED = "failed", _("failed")


class RuleState(models.TextChoices):
    """The state of a conflict rule; the last two are final."""

    PROPOSED = "proposed", _("awaiting approval")
    IN_FORCE = "in-force", _("in force")
    DECLINED = "declined", _("declined")
    REVOKED = "revoked", _("revoked")


class RunState(models.TextChoices):
    """The state of an apply run; the last four are final."""

    QUEUED = "queued", _("queued")
    APPLYING = "applying", _("applying")
    APPLIED = "applied", _("applied")
    FAILED = "failed", _("failed")
    STALE = "stale", _("stale")
    CANCELED = "canceled", _("canceled")

    @classmethod
    def unfinished(cls) -> tuple[RunState, ...]:
        """Return the states in which a run is not finished."""
        return (cls.QUEUED, cls.APPLYING)


class Outcome(models.TextChoices):
    """The outcome of one object of a run."""

    WAITING = "waiting", _("not attempted")
    APPLYING = "applying", _("applying")
    VERIFIED = "applied", _("applied")
    DELETED = "deleted", _("deleted")
    DIFFERS = "applied-live-differs", _("applied · live differs")
    UNCHANGED = "unchanged", _("unchanged")
    REFUSED = "refused", _("refused")
    STALE = "stale", _("stale")
    FAILED = "failed", _("failed")
    UNKNOWN = "unknown", _("unknown")
    SKIPPED = "not-attempted", _("not attempted")
    LEFT_OUT = "left-out", _("left out")

    @classmethod
    def unfinished(cls) -> tuple[Outcome, ...]:
        """Return the outcomes that are not final."""
        return (cls.WAITING, cls.APPLYING)

    @classmethod
    def written(cls) -> tuple[Outcome, ...]:
        """Return the outcomes of objects that a run changed as it was asked to."""
        return (cls.VERIFIED, cls.DELETED, cls.DIFFERS)

    @property
    def is_good(self) -> bool:
        """Whether the object was applied or deleted, or is as the plan promised."""
        return self in (*Outcome.written(), Outcome.UNCHANGED)


class OwnerCheck(models.TextChoices):
    """Whether the live field owners are those that the plan promised; "" if an object was not compared."""

    NONE = "", _("not compared")
    VERIFIED = "verified", _("field owners verified")
    DIFFER = "differ", _("field owners differ")
    NOT_STATED = "not-stated", _("the plan lists no field owners")


class RolloutState(models.TextChoices):
    """The state of the rollout of an applied object; "" if the run does not watch it."""

    NONE = "", _("not watched")
    WAITING = "rolling-out", _("rolling out")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")
    LATE = "timed-out", _("timed out")
    GIVEN_UP = "not-watched", _("no longer watched")


class FindingSort(models.TextChoices):
    """The kind of finding of a scan."""

    CHANGED = "changed", _("changed outside review")
    DRIFTED = "drifted", _("drifted")
    MISSING = "missing", _("deleted outside review")
    UNREVIEWED = "unreviewed", _("unmanaged")


class EntryState(models.TextChoices):
    """A request of a run: recorded before it is sent, answered, or resolved by reading live."""

    INTENT = "intent", _("no answer")
    ANSWERED = "answered", _("answered")
    RESOLVED = "resolved", _("determined from live state")


class Role(models.TextChoices):
    """The role that a grant gives (`workflow/foundation/access.py` maps it to rights)."""

    VIEWER = "viewer", _("viewer")
    AUTHOR = "author", _("author")
    APPROVER = "approver", _("approver")
    OPERATOR = "operator", _("operator")
    ADMINISTRATOR = "administrator", _("administrator")
    AUDITOR = "auditor", _("auditor")
    BREAK_GLASS = "break-glass", _("break-glass")

    @classmethod
    def sensitive(cls) -> tuple[Role, ...]:
        """Return the roles that approve, run, administer, or run without approval."""
        return (cls.APPROVER, cls.OPERATOR, cls.ADMINISTRATOR, cls.BREAK_GLASS)


class TokenScope(models.TextChoices):
    """The scope of a token; each includes the one before, and none allows approving."""

    READ = "read", _("View reviews and runs")
    PLAN = "plan", _("Create reviews and plans")
    APPLY = "apply", _("Start approved runs")


class LimitKind(models.TextChoices):
    """The counters of failed sign-ins, and of playground questions (`VISITOR`)."""

    NAME = "name", _("name")
    ADDRESS = "address", _("address")
    PAIR = "pair", _("name and address")
    VISITOR = "visitor", _("playground visitor")
    SESSION = "session", _("session")
    COMPARER = "comparer", _("person comparing files")
    PUSH = "push", _("deliveries of git hosts")


class Applier(models.TextChoices):
    """The tool that applies the plan of a review: applyviz itself, or another tool whose field manager is reviewed."""

    SELF = "", _("applyviz")
    HELM = "helm", _("Helm")
    ARGO = "argocd", _("Argo CD")
    FLUX = "flux", _("Flux")
    OTHER = "other", _("another tool")


class VerificationState(models.TextChoices):
    """The state of a verification after another tool applied."""

    WAITING = "waiting", _("waiting for a worker")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class LiveComparisonState(models.TextChoices):
    """The result of the last comparison of an open plan with live."""

    NOT_YET = "not-compared", _("not compared yet")
    SAME = "same", _("nothing differs")
    DIFFERS = "differs", _("differs")
    FAILED = "failed", _("could not compare")


class VerificationResult(models.TextChoices):
    """The verification result of one object that another tool should apply."""

    AS_REVIEWED = "as-reviewed", _("as reviewed")
    DIFFERS = "differs", _("differs")
    NOT_YET = "not-yet", _("not applied yet")
    UNKNOWN = "unknown", _("unknown")


class ScheduledStartState(models.TextChoices):
    """The state of a scheduled start."""

    WAITING = "waiting", _("waiting")
    STARTED = "started", _("started")
    CANCELED = "canceled", _("canceled")


class StartEnd(models.TextChoices):
    """The reason why a scheduled start ended without a run."""

    BY_PERSON = "by-person", _("a person canceled it")
    NEW_PLAN = "new-plan", _("the review has a new plan")
    CHANGES_REQUESTED = "changes-requested", _("an approver requested changes")
    APPROVAL_REVOKED = "approval-revoked", _("an approval was revoked")
    RIGHTS_LOST = "rights-lost", _("the person who scheduled it can no longer start runs")
    REVIEW_CLOSED = "review-closed", _("the review was closed")
    STARTED_BY_HAND = "started-by-hand", _("the run was started manually")
    EXPIRED = "expired", _("the plan could not start in time")
    FORGED = "forged", _("this installation did not record it")
    RESTORED = "restored", _("the database was restored from a backup")


class NotificationKind(models.TextChoices):
    """The events that people and webhooks are notified of."""

    NEEDS_YOU = "review.needs_you", _("A review needs you")
    REVIEW_REQUESTED = "review.requested", _("Your review was requested")
    APPROVED = "plan.approved", _("A plan was approved")
    CHANGES_REQUESTED = "plan.changes_requested", _("Changes were requested")
    APPROVALS_DROPPED = "approvals.dropped", _("Approvals no longer apply")
    APPROVALS_EXPIRING = "approvals.expiring", _("An approval expires soon")
    RUN_STARTED = "run.started", _("An apply run started")
    RUN_RETRIED = "run.retried", _("An apply run was retried")
    RUN_FINISHED = "run.finished", _("An apply run finished")
    RUN_FAILED = "run.failed", _("An apply run failed")
    RUN_ATTENTION = "run.needs_attention", _("An apply run needs attention")
    RUN_STALE = "run.stale", _("A plan is stale")
    RUN_CANCELED = "run.canceled", _("An apply run was canceled")
    START_CANCELED = "run.start_canceled", _("A scheduled start was canceled")
    EMERGENCY_APPLIED = "emergency.applied", _("An emergency apply started")
    FOLLOWING_ATTENTION = "following.attention", _("A followed branch needs attention")
    CHECKPOINT_PUBLISHED = "history.published", _("A checkpoint was published")
    WEBHOOK_TRIED = "webhook.tried", _("A webhook was tested")


class DeliveryState(models.TextChoices):
    """The state of one delivery to a webhook."""

    WAITING = "waiting", _("waiting")
    DELIVERED = "delivered", _("delivered")
    GIVEN_UP = "failed", _("failed")


class AuditAction(models.TextChoices):
    """The action that an audit entry records."""

    REVIEW_CREATED = "review.created", _("created a review")
    REVIEW_CLOSED = "review.closed", _("closed a review")
    REVIEWERS_CHANGED = "reviewers.changed", _("changed the requested reviewers")
    PLAN_REQUESTED = "plan.requested", _("requested a plan")
    PLAN_COMPLETED = "plan.completed", _("created a plan")
    PLAN_FAILED = "plan.failed", _("failed to create a plan")
    CONFLICT_RESOLVED = "conflict.resolved", _("resolved a conflict")
    RESOLUTION_UNDONE = "resolution.undone", _("undid a resolution")
    RISK_ACKNOWLEDGED = "risk.acknowledged", _("acknowledged a risk")
    ACKNOWLEDGMENT_WITHDRAWN = "risk.acknowledgment_withdrawn", _("undid an acknowledgment")
    RULE_PROPOSED = "rule.proposed", _("proposed a conflict rule")
    RULE_AGREED = "rule.agreed", _("approved a conflict rule")
    RULE_DECLINED = "rule.declined", _("declined a conflict rule")
    RULE_REVOKED = "rule.revoked", _("ended a conflict rule")
    COMMENT_ADDED = "comment.added", _("commented")
    COMMENT_EDITED = "comment.edited", _("edited a comment")
    COMMENT_RESOLVED = "comment.resolved", _("resolved a comment")
    COMMENT_REOPENED = "comment.reopened", _("reopened a comment")
    APPROVAL_GIVEN = "approval.given", _("approved a plan")
    APPROVAL_REVOKED = "approval.revoked", _("revoked an approval")
    START_SCHEDULED = "start.scheduled", _("scheduled an apply run")
    START_CANCELED = "start.canceled", _("canceled a scheduled start")
    RUN_STARTED = "run.started", _("started an apply run")
    RUN_RETRIED = "run.retried", _("retried an apply run")
    RUN_CLAIMED = "run.claimed", _("picked up an apply run")
    RUN_CANCELED = "run.canceled", _("canceled an apply run")
    RUN_FINISHED = "run.finished", _("finished an apply run")
    OBJECT_INTENT = "object.intent", _("started a write")
    OBJECT_RESULT = "object.result", _("finished a write")
    CLUSTER_ADDED = "cluster.added", _("added a cluster")
    CLUSTER_CHANGED = "cluster.changed", _("changed a cluster")
    SIGNED_IN = "person.signed_in", _("signed in")
    SIGN_IN_FAILED = "person.sign_in_failed", _("failed to sign in")
    SIGN_IN_REFUSED = "person.sign_in_refused", _("was throttled at sign-in")
    REAUTHENTICATED = "person.reauthenticated", _("confirmed identity")
    REAUTHENTICATION_FAILED = "person.reauthentication_failed", _("failed to confirm identity")
    SESSION_ENDED = "session.ended", _("ended sessions")
    PASSWORD_CHANGED = "person.password_changed", _("changed a password")
    LINK_MADE = "person.link_made", _("created an account link")
    ACCOUNT_CLAIMED = "person.claimed", _("claimed an account")
    SECOND_ASKED = "second.asked", _("requested confirmation by a second administrator")
    SECOND_DECLINED = "second.declined", _("declined another administrator's request")
    FILE_COMPARED = "file.compared", _("compared a file with a plan's source")
    APPROVALS_CHECKED = "approvals.checked", _("verified all approvals")
    PERSON_ADDED = "person.added", _("added an account")
    PERSON_CHANGED = "person.changed", _("changed an account")
    TEAM_CHANGED = "team.changed", _("changed a team")
    ROLE_GRANTED = "role.granted", _("granted a role")
    ROLE_ENDED = "role.ended", _("removed a grant")
    IDENTITY_MAPPED = "identity.mapped", _("mapped an identity")
    IDENTITY_ENDED = "identity.ended", _("removed an identity mapping")
    SERVICE_MADE = "service.made", _("created a service account")
    TOKEN_MADE = "token.made", _("created an API token")
    TOKEN_REVOKED = "token.revoked", _("revoked an API token")
    POLICY_CHANGED = "policy.changed", _("changed a policy")
    CHANGES_REQUESTED = "changes.requested", _("requested changes")
    REQUEST_WITHDRAWN = "changes.withdrawn", _("withdrew a request for changes")
    EMERGENCY_APPLIED = "emergency.applied", _("ran an emergency apply")
    LIVE_VERIFIED = "live.verified", _("verified what another tool applied")
    WEBHOOK_CHANGED = "webhook.changed", _("changed a webhook")
    PRESET_CHANGED = "preset.changed", _("changed a preset")
    REPOSITORY_CHANGED = "repository.changed", _("changed a repository setting")
    FOLLOWING_STARTED = "following.started", _("started following a branch")
    FOLLOWING_ENDED = "following.ended", _("stopped following a branch")
    FOLLOWING_FAILED = "following.failed", _("could not fetch a followed branch")
    PUSH_RECEIVED = "push.received", _("received a push")
    COMMIT_UNCHANGED = "commit.unchanged", _("found nothing new in a commit")
    COMMIT_IDENTITY_CHANGED = "person.commit_identity", _("changed a commit identity")
    HISTORY_EXPORTED = "history.exported", _("exported the history")
    HISTORY_ANCHORED = "history.anchored", _("anchored run chains")
    HISTORY_PUBLISHED = "history.published", _("published a checkpoint")
    HISTORY_PRUNED = "history.pruned", _("deleted details (retention policy)")
    KEYS_ROTATED = "keys.rotated", _("re-encrypted secrets")
    ROWS_RE_SIGNED = "keys.re_signed", _("re-signed rows")
    BACKUP_RESTORED = "backup.restored", _("restored the database from a backup")
    RETENTION_CHANGED = "retention.changed", _("changed a retention policy")
    LIVE_CHANGED = "live.changed", _("changed outside review")
    LIVE_DRIFTED = "live.drifted", _("drifted")
