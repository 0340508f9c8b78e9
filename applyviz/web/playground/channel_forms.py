"""The form of the playground for kOps channels: a channel, manifests of its addons, and the records of a cluster."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from applyviz.engine.schema.builtin import RELEASE
from applyviz.guide.given_channels import ChannelQuery
from applyviz.web.playground.forms import QuestionForm, make_text


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
