"""The fields of a patch, for the form of a review and the API: its objects, type, subresource and text.

They become patch documents in one file of the source, so that what is frozen and reviewed is the same as with a file
that holds them.
"""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _text
from django.utils.translation import gettext_lazy as _

from applyviz.engine.manifests.documents import PatchType
from applyviz.engine.manifests.patch_documents import SUBRESOURCES, write_patch
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.requests.options import SetAction
from applyviz.engine.requests.resource_names import parse_object

FILE = "patch.yaml"
MOST_OBJECTS, LONGEST_PATCH = 100, 200_000
TYPES = [
    (PatchType.STRATEGIC.value, _("Strategic merge patch: merges lists by key (built-in kinds only)")),
    (PatchType.MERGE.value, _("JSON merge patch: replaces lists")),
    (PatchType.JSON.value, _("JSON patch: a list of operations")),
]
PARTS = [("", _("The object itself")), *((name, name) for name in SUBRESOURCES)]
HELP = {
    "patch_objects_help": _(
        "One per line or separated by commas, as kubectl names them: deployment/web, or Widget.v1.example.com/main for "
        "a kind of a CRD."
    ),
    "patch_help": _("YAML or JSON, as after kubectl patch --patch. Leave it empty if your files hold patch documents."),
}


def _code(rows: int) -> forms.Textarea:
    return forms.Textarea({"rows": rows, "spellcheck": "false", "autocomplete": "off", "class": "code"})


class PatchFields(forms.Form):
    """A patch and the objects that it is sent to; used if the operation is Patch."""

    patch_objects = forms.CharField(label=_("Objects to patch"), required=False, max_length=40_000, widget=_code(2))
    patch_type = forms.ChoiceField(label=_("Type of the patch"), choices=TYPES, required=False)
    patch_subresource = forms.ChoiceField(label=_("Send it to"), choices=PARTS, required=False)
    patch = forms.CharField(label=_("Patch"), required=False, strip=False, max_length=LONGEST_PATCH, widget=_code(6))

    def clean_patch_objects(self) -> tuple[str, ...]:
        """Return the names, one per line or between commas; each that names nothing is reported."""
        given = self.cleaned_data["patch_objects"].replace(",", "\n").splitlines()
        names = tuple(dict.fromkeys(filter(None, map(str.strip, given))))
        if len(names) > MOST_OBJECTS:
            raise ValidationError(_text("Enter at most %(most)d objects.") % {"most": MOST_OBJECTS})
        problems = []
        for name in names:
            try:
                parse_object(name, namespace="default")
            except ManifestError as error:
                problems.append(ValidationError(error.reason))
        if problems:
            raise ValidationError(problems)
        return names

    def find_patch_errors(self, chosen: Mapping[str, object]) -> list[tuple[str, str]]:
        """Return a field and a text for each part of a patch that is missing, or that another operation has."""
        objects, text = chosen.get("patch_objects"), str(chosen.get("patch") or "").strip()
        if chosen.get("operation") != SetAction.PATCH:
            given = [name for name in ("patch_objects", "patch") if chosen.get(name)]
            return [(name, _text("It belongs to the operation Patch.")) for name in given]
        errors = []
        if text and not objects and "patch_objects" not in self.errors:
            errors.append(("patch_objects", _text("Name the objects that the patch is for.")))
        if objects and not text:
            errors.append(("patch", _text("Enter the patch.")))
        rendered = [name for name in ("kustomization", "chart") if objects and chosen.get(name)]
        errors += [(name, _text("A patch cannot be entered beside what is rendered.")) for name in rendered]
        return errors

    @property
    def is_patched_by_fields(self) -> bool:
        """Return whether a patch is entered in the fields, rightly or wrongly."""
        return any(self.data.get(name) for name in ("patch_objects", "patch"))

    @property
    def patch_files(self) -> tuple[tuple[str, bytes], ...]:
        """Return the file of the entered patch, with one document per object; () without one."""
        chosen = self.cleaned_data
        if chosen.get("operation") != SetAction.PATCH or not chosen["patch_objects"]:
            return ()
        patch_type = PatchType(chosen["patch_type"] or PatchType.STRATEGIC)
        namespace = chosen["namespace"] or "default"
        documents = [
            write_patch(
                parse_object(name, namespace=namespace),
                chosen["patch"],
                patch_type=patch_type,
                subresource=chosen["patch_subresource"],
            )
            for name in chosen["patch_objects"]
        ]
        return ((FILE, "---\n".join(documents).encode()),)
