"""The form of a policy: every rule as a plain field; windows and freezes one per line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from django import forms
from django.forms import BoundField
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.replacement import read_names
from applyviz.records.models import PolicyVersion
from applyviz.web.components.forms import Cleaned, FieldLabel, offer_choices
from applyviz.web.components.phrases import title_kind
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people.teams import list_teams
from applyviz.workflow.policies.owners import OwnerRule, parse_owner
from applyviz.workflow.policies.rules import POLICY_RISKS, OnFailure, RiskDemand, Rules, rules_from_json
from applyviz.workflow.policies.windows import Freeze, Window, parse_freeze, parse_window

T = TypeVar("T")
ON_FAILURE = [(OnFailure.STOP.value, _("Stop")), (OnFailure.CONTINUE.value, _("Continue with independent objects"))]
_COPIED = (
    "approvals", "approving_team", "many_objects", "approval_hours", "may_run_estimated", "may_run_unknown",
    "concurrency", "waits_for_rollout", "rollout_seconds", "refuses_sole", "replace_annotation",
    "allows_unknown_editors", "allows_tokens", "most_deletions", "most_pruned_percent",
)  # fmt: skip


def _number(label: FieldLabel, low: int, high: int, initial: int) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=low, max_value=high, initial=initial)


def _lines(label: FieldLabel) -> forms.CharField:
    area = forms.Textarea(attrs={"rows": 3, "class": "code", "spellcheck": "false"})
    return forms.CharField(label=label, required=False, max_length=4000, widget=area)


class PolicyForm(forms.Form):
    """One version of a policy."""

    slug = forms.SlugField(label=_("Slug"), max_length=63)
    cluster_pattern = forms.CharField(label=_("Clusters"), max_length=63, initial="*")
    namespace_pattern = forms.CharField(label=_("Namespaces"), max_length=63, initial="*")
    is_cluster_scoped = forms.BooleanField(label=_("Include cluster-scoped objects"), required=False, initial=True)
    asking_teams = forms.MultipleChoiceField(
        label=_("Who can request"), required=False, widget=forms.CheckboxSelectMultiple
    )
    approvals = _number(_("Approvals"), 0, 9, 1)
    approving_team = forms.ChoiceField(label=_("of team"), required=False)
    owners = _lines(_("Owners of kinds and files"))
    many_objects = _number(_("Large change: more than N objects"), 1, 100_000, 50)
    approval_hours = _number(_("Approval valid for (hours)"), 0, 8760, 72)
    refuses_sole = forms.BooleanField(
        label=_("Do not count approvals from roles granted by the sole administrator"), required=False
    )
    allows_unknown_editors = forms.BooleanField(
        label=_("Allow approval when an editor of a followed branch matches no account"), required=False
    )
    allows_tokens = forms.BooleanField(label=_("Allow API tokens to start plans with high risks"), required=False)
    may_run_estimated = forms.BooleanField(
        label=_("Allow estimated changes (no dry run)"), required=False, initial=True
    )
    may_run_unknown = forms.BooleanField(label=_("Allow objects with unknown live state"), required=False)
    windows = _lines(_("Change windows"))
    freezes = _lines(_("Freezes"))
    on_failure = forms.ChoiceField(label=_("When an object fails"), choices=ON_FAILURE)
    concurrency = _number(_("Objects at once"), 1, 64, 16)
    waits_for_rollout = forms.BooleanField(label=_("Wait until workloads are ready"), required=False)
    rollout_seconds = _number(_("Timeout (seconds)"), 1, 21_600, 600)
    replaced_kinds = forms.CharField(label=_("Replace these kinds"), required=False, max_length=2_000)
    replace_annotation = forms.CharField(
        label=_("Replace objects with this annotation"), required=False, max_length=317
    )
    kept_kinds = forms.CharField(label=_("Never delete these kinds"), required=False, max_length=2_000)
    most_deletions = _number(_("Most deletions in one plan"), 0, 100_000, 0)
    most_pruned_percent = _number(_("Most that prune deletes of a set (percent)"), 0, 100, 0)
    critical_kinds = forms.CharField(label=_("Critical kinds"), required=False, max_length=2_000)
    note = forms.CharField(
        label=_("Reason for this change"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(
        self, data: QueryDict | None, *, for_user: Visitor, initial: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        teams = [(team.slug, team.name) for team in list_teams(for_user=for_user)]
        any_approver = [("", _("any approver")), *teams]
        offer_choices(self, "asking_teams", teams)
        offer_choices(self, "approving_team", any_approver)
        for risk in POLICY_RISKS:
            number = forms.IntegerField(label=title_kind(risk), min_value=0, max_value=9, initial=0)
            number.widget.attrs["aria-label"] = _("Approvals for: %(risk)s") % {"risk": title_kind(risk)}
            self.fields[f"approvals_{risk.slug}"] = number
            team = forms.ChoiceField(label=_("of team"), required=False, choices=any_approver)
            team.widget.attrs["aria-label"] = _("Team that approves: %(risk)s") % {"risk": title_kind(risk)}
            self.fields[f"team_{risk.slug}"] = team

    @property
    def high_risks(self) -> list[tuple[str | Promise, BoundField, BoundField]]:
        """Return the title and the two fields of each risk."""
        return [(title_kind(d), self[f"approvals_{d.slug}"], self[f"team_{d.slug}"]) for d in POLICY_RISKS]

    def _parse(self, name: str, parse: Callable[[str], T]) -> Iterator[T]:
        for line in str(self.cleaned_data.get(name) or "").splitlines():
            if line.strip():
                try:
                    yield parse(line)
                except ValueError as error:
                    self.add_error(name, str(error))

    def clean(self) -> Cleaned:
        """Parse owners, windows and freezes; report every invalid line."""
        given: tuple[tuple[str, Callable[[str], Window | Freeze | OwnerRule]], ...] = (
            ("owners", parse_owner),
            ("windows", parse_window),
            ("freezes", parse_freeze),
        )
        for name, parse in given:
            parsed = tuple(self._parse(name, parse))
            if name in self.cleaned_data:
                self.cleaned_data[name] = parsed
        return self.cleaned_data

    @property
    def scope(self) -> Scope:
        """Return its scope."""
        chosen = self.cleaned_data
        return Scope(chosen["cluster_pattern"], chosen["namespace_pattern"], chosen["is_cluster_scoped"])

    @property
    def rules(self) -> Rules:
        """Return its rules."""
        chosen = self.cleaned_data
        return Rules(
            asking_teams=tuple(chosen["asking_teams"]),
            for_risks=tuple(
                RiskDemand(d, chosen[f"approvals_{d.slug}"], chosen[f"team_{d.slug}"])
                for d in POLICY_RISKS
                if chosen[f"approvals_{d.slug}"]
            ),
            owners=chosen["owners"],
            windows=chosen["windows"],
            freezes=chosen["freezes"],
            on_failure=OnFailure(chosen["on_failure"]),
            replaced_kinds=read_names(chosen["replaced_kinds"]),
            kept_kinds=read_names(chosen["kept_kinds"]),
            critical_kinds=read_names(chosen["critical_kinds"]),
            **{name: chosen[name] for name in _COPIED},
        )


def fill_in(version: PolicyVersion) -> dict[str, object]:
    """Return a version as initial values of the form."""
    rules = rules_from_json(version.rules)
    filled: dict[str, object] = {name: getattr(rules, name) for name in _COPIED}
    for demand in rules.for_risks:
        filled[f"approvals_{demand.risk.slug}"] = demand.approvals
        filled[f"team_{demand.risk.slug}"] = demand.team
    return filled | {
        "slug": version.policy.slug,
        "cluster_pattern": version.cluster_pattern,
        "namespace_pattern": version.namespace_pattern,
        "is_cluster_scoped": version.is_cluster_scoped,
        "asking_teams": list(rules.asking_teams),
        "owners": "\n".join(str(owner) for owner in rules.owners),
        "windows": "\n".join(str(window) for window in rules.windows),
        "freezes": "\n".join(str(freeze) for freeze in rules.freezes),
        "on_failure": rules.on_failure.value,
        "replaced_kinds": ", ".join(rules.replaced_kinds),
        "kept_kinds": ", ".join(rules.kept_kinds),
        "critical_kinds": ", ".join(rules.critical_kinds),
    }


class TryForm(forms.Form):
    """The plan on which a policy is tested."""

    review = forms.IntegerField(label=_("Review"), min_value=1)
    plan = forms.IntegerField(label=_("Plan"), min_value=1)


class NoteForm(forms.Form):
    """The reason of a change."""

    note = forms.CharField(label=_("Why"), required=False, max_length=2000)
