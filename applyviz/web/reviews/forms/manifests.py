"""The manifests of a form as frozen bytes: uploads, a paste, a link; parsed at once, so that problems show.

Problems of single documents do not stop the others. `applyviz.sources` sets the limits; what it refuses as a whole
becomes a problem too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.sources.bundle import SourceBundle
from applyviz.workflow.plans.intake import Given, read_manifests

HELP: dict[str, str | Promise] = {
    "link_help": _("HTTPS URL of one file. Fetched once and stored with the review."),
    "kustomization_help": _(
        "Folder to render, for example shop/overlays/prod. Remote resources and plugins are not supported."
    ),
    "namespace_help": _("Used for objects without a namespace."),
    "manager_help": _("Recorded as the owner of the fields you apply. Use the same name every time."),
    "ownership_help": _(
        "Server-side: what kubectl apply made client-side becomes the field manager's own before the apply, so nothing "
        "conflicts with it. Client-side: what this manager or kubectl applied server-side becomes client-side after "
        "the apply. Either way, no value changes by the move, and fields that you dropped are removed."
    ),
    "takes_from_help": _("For example helm or kubectl-edit. The plan shows what they own."),
}
KUSTOMIZATIONS = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})


class SeveralFilesInput(forms.ClearableFileInput):
    """A file input that accepts several files."""

    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """Several uploaded files at once; each is cleaned like a single one."""

    widget = SeveralFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        """Return the uploaded files, none without any."""
        given = data if isinstance(data, (list, tuple)) else [data] if data else []
        return [super(SeveralFilesField, self).clean(one, initial) for one in given]


class SourceForm(forms.Form):
    """Manifests from files, a folder, a paste or a link; any of them, at least one."""

    manifests = SeveralFilesField(label=_("Files"), required=False, allow_empty_file=True)
    folder = SeveralFilesField(label=_("Folder"), required=False, allow_empty_file=True)
    text = forms.CharField(label=_("Paste"), required=False, strip=False, max_length=5_000_000)
    paths = forms.CharField(required=False, max_length=500_000)
    kustomization = forms.CharField(label=_("Kustomization"), required=False, max_length=500)
    link = forms.URLField(label=_("Link"), required=False, max_length=2000, assume_scheme="https")

    def clean_paths(self) -> list[str]:
        """Return the paths of a dropped folder, as the page's script lists them; none without script."""
        try:
            given = json.loads(self.cleaned_data["paths"] or "[]")
        except ValueError:
            return []
        return [str(path) for path in given] if isinstance(given, list) else []

    def clean_link(self) -> str:
        """Accept https links only, and origins that the operator allows."""
        link = str(self.cleaned_data["link"])
        allowed = tuple(f"{origin.rstrip('/')}/" for origin in settings.APPLYVIZ_LINK_HOSTS)
        if link and not link.startswith(("https://", *allowed)):
            raise forms.ValidationError(_("Only HTTPS URLs are supported."))
        return link

    def clean(self) -> dict[str, Any]:
        """Refuse a form without any manifest, and a kustomization without its folder."""
        found = super().clean() or self.cleaned_data
        if found.get("kustomization") and not (found.get("manifests") or found.get("folder")):
            self.add_error("kustomization", _("Upload the folder that contains it above."))
        if not self.errors and not any(found.get(name) for name in ("manifests", "folder", "text", "link")):
            raise forms.ValidationError(
                _("Add at least one manifest: drop files, paste YAML or JSON, or enter a link.")
            )
        return found

    def take(self, *, is_fetching: bool = True) -> Given:
        """Return the input of a valid form; without its link unless `is_fetching`."""
        values = self.cleaned_data
        uploads = [*values["manifests"], *values["folder"]]
        paths = values["paths"]
        names = paths if len(paths) == len(uploads) else [one.name or "upload.yaml" for one in uploads]
        return Given(
            files=tuple((name, one.read()) for name, one in zip(names, uploads, strict=True)),
            kustomization=values["kustomization"],
            text=values["text"],
            link=values["link"] if is_fetching else "",
        )


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A parsed object."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """A document that could not be parsed, with its location."""

    reason: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class ReadSource:
    """Everything read from the form."""

    bundle: SourceBundle
    found: tuple[FoundObject, ...]
    problems: tuple[FoundProblem, ...]

    @property
    def can_be_planned(self) -> bool:
        """Return whether there is at least one object."""
        return bool(self.found)


def _is_kustomization(name: str) -> bool:
    return name.rpartition("/")[2] in KUSTOMIZATIONS


def _find_kustomizations(bundle: SourceBundle) -> Iterator[FoundProblem]:
    """Yield a problem for each kustomization: it must be rendered, or left out."""
    for file in bundle.files:
        if _is_kustomization(file.name):
            folder = file.name.rpartition("/")[0]
            reason = _(
                "this is a kustomization, not an object. To render it, enter %(folder)s as the kustomization folder"
            )
            yield FoundProblem(reason % {"folder": folder or "."}, file.name)


def _present_found(parsed: Iterable[ParsedFile]) -> tuple[FoundObject, ...]:
    refs = [ObjectRef.from_object(document.obj) for file in parsed for document in file.documents]
    return tuple(FoundObject(r.gvk.kind, f"{r.namespace}/{r.name}" if r.namespace else r.name) for r in refs)


def _present_problems(parsed: Iterable[ParsedFile]) -> tuple[FoundProblem, ...]:
    problems = (p for file in parsed for p in file.problems)
    return tuple(FoundProblem(p.reason, str(p.position)) for p in problems if not _is_kustomization(p.position.file))


def read_source(form: SourceForm, *, is_fetching: bool = True) -> ReadSource:
    """Freeze and parse the input of a valid form; does not fetch a link unless `is_fetching`."""
    try:
        taken = read_manifests(form.take(is_fetching=is_fetching))
    except SourceError as error:
        return ReadSource(SourceBundle(), (), (FoundProblem(str(error)),))
    problems = (*_find_kustomizations(taken.bundle), *_present_problems(taken.files))
    return ReadSource(taken.bundle, _present_found(taken.files), problems)


class CompareFileForm(forms.Form):
    """One file to compare with the source of a plan."""

    file = forms.FileField(label=_("Your file"), allow_empty_file=True)
