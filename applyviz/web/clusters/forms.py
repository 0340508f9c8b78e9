"""Forms for adding a live cluster by a kubeconfig, managing it, and adopting an object."""

from __future__ import annotations

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions
from applyviz.records.models import Cluster
from applyviz.web.reviews.forms.reviews import MODES

MOST_BYTES = 512 * 1024


class CredentialForm(forms.Form):
    """A kubeconfig; the use case checks its content. `server_message` is the original text of a server."""

    server_message = ""
    kubeconfig = forms.FileField(label=_("Kubeconfig"))
    context = forms.CharField(label=_("Context"), required=False, max_length=250)

    def clean_kubeconfig(self) -> bytes:
        """Return the bytes of the file."""
        given = self.cleaned_data["kubeconfig"]
        if given.size > MOST_BYTES:
            raise forms.ValidationError(_("The kubeconfig must be smaller than 512 KiB."))
        return bytes(given.read())


class RenameForm(forms.Form):
    """A new display name."""

    name = forms.CharField(label=_("Name"), max_length=120)


class PauseForm(forms.Form):
    """The reason of a pause."""

    reason = forms.CharField(label=_("Reason"), required=False, max_length=400)


class AddClusterForm(CredentialForm):
    """Name, slug and kubeconfig."""

    field_order = ("name", "slug", "kubeconfig", "context")
    name = forms.CharField(label=_("Name"), max_length=120)
    slug = forms.SlugField(label=_("Slug (used in URLs)"), max_length=63)

    def clean_slug(self) -> str:
        """Check that the slug is not in use."""
        slug = str(self.cleaned_data["slug"])
        if Cluster.objects.filter(slug=slug).exists():
            raise forms.ValidationError(_("Another cluster already uses this slug."))
        return slug


class AdoptForm(forms.Form):
    """How a live object is brought under review."""

    title = forms.CharField(label=_("Title"), max_length=200)
    reason = forms.CharField(label=_("Why"), required=False, max_length=5000, widget=forms.Textarea(attrs={"rows": 3}))
    mode = forms.ChoiceField(label=_("How to apply"), choices=MODES, initial=ApplyMode.SERVER.value)
    field_manager = forms.CharField(
        label=_("Field manager"),
        max_length=128,
        initial=PRODUCT_MANAGER,
        validators=[RegexValidator(r"^[!-~]+$", _("Use printable characters without spaces."))],
    )

    def read_options(self, namespace: str) -> ApplyOptions:
        """Return the options for the engine."""
        chosen = self.cleaned_data
        return ApplyOptions(
            mode=ApplyMode(chosen["mode"]), field_manager=chosen["field_manager"], namespace=namespace or "default"
        )


class MaskingForm(forms.Form):
    """Whether credentials in plain fields are masked."""

    is_on = forms.TypedChoiceField(choices=[("on", "on"), ("off", "off")], coerce=lambda value: value == "on")
