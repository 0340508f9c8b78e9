"""Adding a live cluster by an uploaded kubeconfig."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from applyviz.records.models import Cluster

MOST_BYTES = 512 * 1024


class AddClusterForm(forms.Form):
    """Name, address word, and the kubeconfig; its content is vetted by the use case."""

    name = forms.CharField(label=_("Name"), max_length=120)
    slug = forms.SlugField(label=_("Short name for addresses"), max_length=63)
    kubeconfig = forms.FileField(label=_("Kubeconfig"))
    context = forms.CharField(label=_("Context"), required=False, max_length=250)

    def clean_slug(self) -> str:
        """Each short name is used once."""
        slug = str(self.cleaned_data["slug"])
        if Cluster.objects.filter(slug=slug).exists():
            raise forms.ValidationError(_("A cluster has this short name already."))
        return slug

    def clean_kubeconfig(self) -> bytes:
        """The bytes of the file."""
        given = self.cleaned_data["kubeconfig"]
        if given.size > MOST_BYTES:
            raise forms.ValidationError(_("A kubeconfig is smaller than 512 KiB."))
        return bytes(given.read())
