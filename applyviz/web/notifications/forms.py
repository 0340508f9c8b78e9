"""Forms of notifications: personal settings, and webhooks."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.records.enums import NotificationKind
from applyviz.workflow.notifications.choices import CHOSEN, NotificationChannels
from applyviz.workflow.notifications.webhooks import SHORTEST_SECRET

_LABELS = [(event.value, event.label) for event in CHOSEN]
# Checkpoints are for programs only.
_OF_WEBHOOKS = [*_LABELS, (NotificationKind.CHECKPOINT_PUBLISHED.value, NotificationKind.CHECKPOINT_PUBLISHED.label)]


class ChoicesForm(forms.Form):
    """The events that notify a person in the product and by email."""

    shown = forms.MultipleChoiceField(choices=_LABELS, required=False)
    mailed = forms.MultipleChoiceField(choices=_LABELS, required=False)

    def read(self) -> dict[NotificationKind, NotificationChannels]:
        """Return the settings of every event."""
        shown, mailed = self.cleaned_data["shown"], self.cleaned_data["mailed"]
        return {event: NotificationChannels(event.value in shown, event.value in mailed) for event in CHOSEN}


class ReadForm(forms.Form):
    """Marking everything as read that a page showed."""

    up_to = forms.IntegerField(min_value=0)


class WebhookForm(forms.Form):
    """A webhook; its secret can only be written."""

    name = forms.CharField(label=_("Name"), max_length=80)
    url = forms.CharField(
        label=_("Address"),
        max_length=1000,
        help_text=_("HTTPS URL of a public host or a host that the operator allows"),
    )
    secret = forms.CharField(
        label=_("Secret"),
        max_length=200,
        min_length=SHORTEST_SECRET,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Signs every message. Stored encrypted and never shown again."),
    )
    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=_OF_WEBHOOKS,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None selected: all events."),
    )


class EditWebhookForm(WebhookForm):
    """The form for an existing webhook; an empty secret keeps the present one."""

    is_enabled = forms.BooleanField(label=_("Enabled"), required=False)

    def __init__(self, data: QueryDict | None, *, initial: dict[str, object]) -> None:
        super().__init__(data, initial=initial)
        self.fields["secret"].required = False
        self.fields["secret"].help_text = _("Leave empty to keep the current secret.")
