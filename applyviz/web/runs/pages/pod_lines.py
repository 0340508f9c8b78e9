"""The pods of a workload that does not roll out: why they do not start, and how many still serve.

Messages about a pod come from the cluster; the worker stored them only where they cannot repeat a Secret.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.objects.values import JSONObject


def describe_problem(problem: JSONObject) -> str:
    """Return why some pods do not start: the reason, where, how many, and what the cluster says about it."""
    parts = [str(problem["reason"])]
    if problem.get("image"):
        parts.append(str(problem["image"]))
    if problem.get("container"):
        parts.append(_("container %(name)s") % {"name": problem["container"]})
    count = problem.get("pods", 1)
    parts.append(ngettext("%(count)d pod", "%(count)d pods", count) % {"count": count})
    text = " · ".join(parts)
    return f"{text}: {problem['message']}" if problem.get("message") else text


def list_pod_lines(pods: JSONObject) -> tuple[str, ...]:
    """Return what is known of the pods of a workload that does not roll out."""
    lines = [describe_problem(problem) for problem in pods.get("problems") or ()]
    unread = pods.get("unread") or {}
    if unread.get("pods") == 403:
        lines.append(_("Pod details need list pods. Grant this permission to the account that applies."))
    elif "pods" in unread:
        lines.append(_("The pods could not be listed (%(status)s).") % {"status": unread["pods"] or _("no answer")})
    elif unread.get("events") == 403 and not lines:
        lines.append(_("Warnings about pods need list events. Grant this permission to the account that applies."))
    old = pods.get("ready", 0) - pods.get("new", 0)
    if old > 0:
        lines.append(ngettext("%(n)d old pod still serves.", "%(n)d old pods still serve.", old) % {"n": old})
    return tuple(lines)
