"""Sentences and addresses of notification events, the same for pages, email and webhooks."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import NotificationKind, StartEnd
from applyviz.records.models import NotificationEvent

_SENTENCES = {
    NotificationKind.NEEDS_YOU: "Plan %(plan)s of “%(title)s” needs your approval",
    NotificationKind.REVIEW_REQUESTED: "%(by)s asks you to review plan %(plan)s of “%(title)s”",
    NotificationKind.APPROVED: "%(by)s approved plan %(plan)s of “%(title)s”",
    NotificationKind.CHANGES_REQUESTED: "%(by)s requested changes of “%(title)s”",
    NotificationKind.APPROVALS_DROPPED: (
        "Plan %(plan)s of “%(title)s” does something else: earlier approvals no longer count"
    ),
    NotificationKind.APPROVALS_EXPIRING: "The approval by %(by)s of “%(title)s” expires soon",
    NotificationKind.RUN_STARTED: "Run %(run)s applies “%(title)s”",
    NotificationKind.RUN_RETRIED: "%(by)s retries run %(run)s of “%(title)s”",
    NotificationKind.RUN_FINISHED: "Run %(run)s of “%(title)s” is finished",
    NotificationKind.RUN_FAILED: "Run %(run)s of “%(title)s” failed",
    NotificationKind.RUN_ATTENTION: "Run %(run)s of “%(title)s” needs attention",
    NotificationKind.RUN_STALE: "Run %(run)s of “%(title)s” stopped: live moved after the plan was made",
    NotificationKind.RUN_CANCELED: "Run %(run)s of “%(title)s” was canceled",
    NotificationKind.START_CANCELED: "The scheduled start of “%(title)s” was canceled: %(why)s",
    NotificationKind.EMERGENCY_APPLIED: (
        "%(by)s ran an emergency apply of “%(title)s” without the approvals that its policy requires"
    ),
    NotificationKind.FOLLOWING_ATTENTION: "The followed branch of “%(title)s” needs attention: %(reason)s",
    NotificationKind.CHECKPOINT_PUBLISHED: "A checkpoint was published: the global chain has %(entries)s entries",
    NotificationKind.WEBHOOK_TRIED: "%(by)s sent a test event",
}


def render_sentence(notification_event: NotificationEvent) -> str:
    """Return one sentence about the event, without a final period."""
    facts: JSONObject = notification_event.facts
    return _(_SENTENCES[NotificationKind(notification_event.event)]) % {
        "title": (facts.get("review") or {}).get("title", ""),
        "plan": (facts.get("plan") or {}).get("number", ""),
        "run": (facts.get("run") or {}).get("number", ""),
        "by": facts.get("by", ""),
        "why": StartEnd(facts["why"]).label if facts.get("why") else "",
        "reason": facts.get("reason", ""),
        "entries": str(facts.get("head", "")).partition(":")[0],
    }


def find_path(notification_event: NotificationEvent) -> str:
    """Return the page about an event."""
    facts: JSONObject = notification_event.facts
    if facts.get("run"):
        return f"/runs/{facts['run']['number']}/"
    if facts.get("review"):
        return f"/reviews/{facts['review']['number']}/overview/"
    return "/history/verify/" if facts.get("head") else "/"


def find_choices_url() -> str:
    """Return the address of the notification settings."""
    return settings.APPLYVIZ_URL.rstrip("/") + "/notifications/choices/"


def find_url(notification_event: NotificationEvent) -> str:
    """Return the full address of that page; only a path when the installation does not know its own address."""
    return settings.APPLYVIZ_URL.rstrip("/") + find_path(notification_event)
