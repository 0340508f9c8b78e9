"""The form of a push webhook; its secret is made, never entered."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from applyviz.records.git_enums import ForgeKind


class PushWebhookForm(forms.Form):
    """A new push webhook."""

    repository = forms.CharField(
        label=_("Repository"),
        max_length=1000,
        widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off", "class": "code"}),
        help_text=_("The address as reviews fetch it, such as https://github.com/owner/repository."),
    )
    forge = forms.ChoiceField(label=_("Git host"), choices=ForgeKind.choices)
