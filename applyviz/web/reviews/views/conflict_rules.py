"""Conflict rules: the list of a cluster, proposing one from a resolution or a field, approving, declining, revoking."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz.engine.objects.golang import is_digits
from applyviz.engine.objects.structs import replace
from applyviz.records.models import ConflictRule, Plan
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.reviews.forms.resolutions import RuleForm, RuleNoteForm
from applyviz.web.reviews.pages.conflict_rules import present_proposal, present_rules
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.plans import conflict_rules, live_values


@requires(Action.VIEW)
def list_rules(request: PageRequest, slug: str) -> HttpResponse:
    """List the conflict rules of a cluster."""
    cluster = registration.get_cluster(slug, for_user=request.user)
    return render(request, "reviews/conflict_rules.html", {"page": present_rules(cluster, for_user=request.user)})


def _read_number(text: str | None) -> int | None:
    return int(text) if text and is_digits(text) and len(text) < 7 else None


@requires_plan(Action.RESOLVE, "GET", "POST")
def propose_rule(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Propose a conflict rule from a resolution, or to ignore a field; another person must approve it."""
    change = live_values.read_change(plan, position)
    answer, field = (_read_number(request.GET.get(name)) for name in ("answer", "field"))
    proposal = present_proposal(plan, change, position, answer=answer, field=field)
    first = {"name": change.ref.name, "namespace": change.ref.namespace}
    form = RuleForm(request.POST or None, initial=first)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        manager = "" if given["is_for_all"] else proposal.draft.manager
        draft = replace(proposal.draft, name=given["name"], namespace=given["namespace"], manager=manager)
        rule = conflict_rules.propose_rule(plan, draft, by=request.user, reason=given["reason"])
        messages.success(
            request, _("Rule %(number)d proposed. Another person must approve it.") % {"number": rule.number}
        )
        return redirect(f"{reverse('clusters:list-rules', args=[rule.cluster.slug])}#rule-{rule.number}")
    context = {"form": form, "proposal": proposal}
    return render(
        request, "reviews/propose_conflict_rule.html", context, status=422 if request.method == "POST" else 200
    )


def _get(request: PageRequest, slug: str, number: int) -> ConflictRule:
    cluster = registration.get_cluster(slug, for_user=request.user)
    return conflict_rules.get_rule(cluster, number, for_user=request.user)


def _read_note(request: PageRequest) -> str:
    form = RuleNoteForm(request.POST)
    return str(form.cleaned_data["note"]) if form.is_valid() else ""


def _go_back(rule: ConflictRule) -> HttpResponse:
    return redirect(f"{reverse('clusters:list-rules', args=[rule.cluster.slug])}#rule-{rule.number}")


@requires(Action.APPROVE, "POST")
def agree_rule(request: PageRequest, slug: str, number: int) -> HttpResponse:
    """Approve a rule that another person proposed."""
    rule = _get(request, slug, number)
    conflict_rules.agree_rule(rule, by=request.user)
    messages.success(request, _("Rule %(number)d approved. It applies to new plans.") % {"number": number})
    return _go_back(rule)


@requires(Action.ACKNOWLEDGE, "POST")
def decline_rule(request: PageRequest, slug: str, number: int) -> HttpResponse:
    """Decline a proposed rule, or withdraw one's own proposal."""
    rule = _get(request, slug, number)
    conflict_rules.decline_rule(rule, by=request.user, note=_read_note(request))
    messages.success(request, _("Rule %(number)d declined.") % {"number": number})
    return _go_back(rule)


@requires(Action.ACKNOWLEDGE, "POST")
def revoke_rule(request: PageRequest, slug: str, number: int) -> HttpResponse:
    """End a rule that is in force."""
    rule = _get(request, slug, number)
    conflict_rules.revoke_rule(rule, by=request.user, note=_read_note(request))
    messages.success(
        request, _("Rule %(number)d revoked. Conflicts that it resolved are open again.") % {"number": number}
    )
    return _go_back(rule)
