"""The forms of the playground for sets and for kOps channels: texts, and what is done with them."""

from __future__ import annotations

from typing import Self

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import Propagation
from applyviz.engine.requests.replacement import read_names
from applyviz.engine.schema.builtin import RELEASE
from applyviz.guide.given_channels import ChannelQuery
from applyviz.guide.given_sets import SetQuery, SetTask
from applyviz.web.components.propagations import PROPAGATIONS
from applyviz.web.playground.forms import QuestionForm, make_text
from applyviz.web.reviews.forms.prune import PruneFields

TASKS = [
    (SetTask.ALLOWLIST.value, _("Prune by allowlist")),
    (SetTask.APPLYSET.value, _("Prune by ApplySet")),
    (SetTask.KEEP.value, _("Apply without prune")),
    (SetTask.DELETE.value, _("Delete")),
]
_NAME = RegexValidator(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z", _("Use lowercase letters, digits and dashes."))


class SetForm(QuestionForm[SetQuery], PruneFields):
    """One playground input about a set; kubectl has no list of kinds that are never pruned."""

    manifest = make_text(_("Manifests"), 18, required=True)
    before = make_text(_("Applied before"), 18)
    cluster = make_text(_("Other live objects"), 18)
    prune = forms.ChoiceField(label=_("What to do"), choices=TASKS, initial=SetTask.ALLOWLIST.value)
    prune_all = forms.BooleanField(label=_("All objects, whatever their labels"), required=False)
    namespace = forms.CharField(label=_("Namespace"), max_length=63, required=False, validators=[_NAME])
    propagation = forms.ChoiceField(label=_("Dependents"), choices=PROPAGATIONS, required=False)
    prune_except = None  # type: ignore[assignment]  # how a form leaves out a field of its base

    @classmethod
    def of(cls, given: SetQuery) -> Self:
        """Return the form filled with an input."""
        task, kinds = given.task.value, "\n".join(given.allowlist)
        more = {"prune": task, "prune_allowlist": kinds, "prune_all": not given.selector}
        return cls(initial={**given.to_json(), **more, "propagation": given.propagation.value})

    @property
    def given(self) -> SetQuery:
        """Return the input for the calculation."""
        chosen = self.cleaned_data
        texts = {name: chosen[name].replace("\r\n", "\n") for name in ("manifest", "before", "cluster")}
        return SetQuery(
            **texts,
            task=SetTask(chosen["prune"]),
            namespace=chosen["namespace"] or "default",
            selector="" if chosen["prune_all"] else chosen["selector"],
            allowlist=read_names(chosen["prune_allowlist"]),
            applyset=chosen["applyset"],
            propagation=Propagation(chosen["propagation"] or Propagation.BACKGROUND.value),
        )


class ChannelForm(QuestionForm[ChannelQuery]):
    """One playground input about a channel."""

    channel = make_text(_("Channel"), 18, required=True)
    cluster = make_text(_("Live objects"), 18)
    manifests = make_text(_("Manifests of addons"), 18)
    kubernetes = forms.CharField(label=_("Kubernetes version"), max_length=63, initial=RELEASE)

    @property
    def given(self) -> ChannelQuery:
        """Return the input for the calculation."""
        chosen = self.cleaned_data
        texts = {name: chosen[name].replace("\r\n", "\n") for name in ("channel", "manifests", "cluster")}
        return ChannelQuery(**texts, kubernetes=chosen["kubernetes"])
