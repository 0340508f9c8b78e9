"""Forms for adding a live cluster by a kubeconfig, managing it, and adopting objects."""

from __future__ import annotations

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions
from applyviz.web.reviews.forms.reviews import MODES
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.live.adopted_names import MOST_ADOPTED, read_name

MOST_BYTES = 512 * 1024


class CredentialForm(forms.Form):
    """A kubeconfig; the use case checks its content. `server_message` is the original text of a server."""

    server_message = ""
    kubeconfig = forms.FileField(label=_("Kubeconfig"))
    context = forms.CharField(label=_("Context"), required=False, max_length=250)

    def clean_kubeconfig(self) -> UploadedFile[bytes]:
        """Limit the size of the file."""
        given: UploadedFile[bytes] = self.cleaned_data["kubeconfig"]
        if given.size is None or given.size > MOST_BYTES:
            raise forms.ValidationError(_("The kubeconfig must be smaller than 512 KiB."))
        return given


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


class ObjectNamesForm(forms.Form):
    """The ticked live objects, each as `core/ConfigMap/shop/settings`."""

    objects = forms.MultipleChoiceField()

    def __init__(self, given: QueryDict) -> None:
        """Take the given names; `clean` checks them."""
        super().__init__(given)
        field = self.fields["objects"]
        if isinstance(field, forms.MultipleChoiceField):
            field.choices = [(name, name) for name in given.getlist("objects")]
            field.error_messages["required"] = _("Select at least one object.")

    def clean_objects(self) -> tuple[dict[str, str], ...]:
        """Return the group, kind, namespace and name of each object."""
        names = tuple(dict.fromkeys(self.cleaned_data["objects"]))
        if len(names) > MOST_ADOPTED:
            text = gettext("%(n)d objects are selected; one review takes %(most)d.")
            raise forms.ValidationError(text % {"n": len(names), "most": MOST_ADOPTED})
        try:
            return tuple(map(read_name, names))
        except NotValidError as error:
            raise forms.ValidationError(str(error)) from error


class SwitchForm(forms.Form):
    """Whether something is on: masking of credentials, simulated workloads."""

    is_on = forms.TypedChoiceField(choices=[("on", "on"), ("off", "off")], coerce=lambda value: value == "on")
