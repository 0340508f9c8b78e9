"""Forms for manifests: uploads, a folder, a paste, links, a git repository, and a file to compare with a source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.errors import SourceError
from applyviz.records.models import Cluster
from applyviz.sources.charts.model import ChartSource
from applyviz.sources.git.model import GitSource
from applyviz.sources.links import MOST_LINKS
from applyviz.web.components.forms import FieldLabel
from applyviz.workflow.plans import charts, git_sources
from applyviz.workflow.plans.intake import ReviewInput

HELP: dict[str, str | Promise] = {
    "links_help": _(
        "HTTPS URLs of files, one per line. Each is fetched once and stored with the review. For the page of a file on "
        "GitHub or GitLab, its raw form is fetched."
    ),
    "git_repository_help": _(
        "HTTPS or SSH address. The commit is fetched once and stored with the review; hooks, submodules and LFS are "
        "not used. For a private repository, an administrator registers a credential in the settings."
    ),
    "git_ref_help": _("Branch, tag or whole commit id. Empty: the default branch."),
    "git_path_help": _(
        "File, folder with its subfolders, or glob such as deploy/**/*.yaml. Empty: the whole repository."
    ),
    "follow_help": _(
        "You request each of these plans, with your rights at that time. Authors, committers and pushers can't approve "
        "them."
    ),
    "kustomization_help": _(
        "Folder to render in the upload or the repository, for example shop/overlays/prod. Remote resources and "
        "plugins are not supported."
    ),
    "chart_help": _(
        "Folder or .tgz archive among the files above or in the git repository, the HTTPS address of an archive, an "
        "oci:// reference, or the name of a chart in the chart repository below."
    ),
    "chart_repository_help": _("HTTPS address of a chart repository. Empty for a file or an oci:// reference."),
    "chart_version_help": _("Exact version, for example 1.2.3. Required for a repository and for oci://."),
    "chart_release_help": _("Empty: the name of the chart."),
    "chart_values_files_help": _(
        "Files of the upload or, for a chart in the git repository, of that, one per line. A later file wins over an "
        "earlier one."
    ),
    "chart_values_help": _("YAML that wins over all values files."),
    "chart_hooks_help": _(
        "Apply would create hooks like any other object. Without this, they are listed and left out, and you can "
        "include each of them later."
    ),
    "namespace_help": _("Used for objects without a namespace."),
    "manager_help": _(
        "Recorded as the owner of the fields you apply. Use the same name every time. A kOps channel is applied as "
        "kops unless you enter another name."
    ),
    "ownership_help": _(
        "Server-side: fields from client-side kubectl apply move to the field manager before the apply, so they cause "
        "no conflicts. Client-side: fields that this manager or kubectl applied server-side move to client-side apply "
        "afterwards. Either way, the move changes no values, and fields that you dropped are removed."
    ),
    "replace_help": _(
        "Kinds such as batch/Job or core/Service, or objects such as batch/Job/default/migrate. If the server "
        "rejects a change to them as immutable, the plan deletes and re-creates them. Each replacement is a high risk."
    ),
    "deletion_help": _("If the object still exists after this time, the deletion failed and nothing is created."),
    "takes_from_help": _("For example helm or kubectl-edit. The plan shows what they own."),
}


_ORIGINS = ("manifests", "folder", "text", "links", "git_repository", "chart", "patch_objects")


def _read_git(values: Mapping[str, object]) -> GitSource | None:
    """Return the repository that a form names, None without one."""
    repository = str(values.get("git_repository") or "").strip()
    if not repository:
        return None
    ref, path, folder = (str(values.get(name) or "").strip() for name in ("git_ref", "git_path", "kustomization"))
    return GitSource(repository, ref, path, folder)


_OF_GIT = ("git_repository", "git_ref", "git_path", "kustomization")
_OF_CHART = ("chart_repository", "chart_version", "chart_release", "chart_values_files", "chart_values")


def read_chart(values: Mapping[str, object]) -> ChartSource | None:
    """Return the chart that a form or a request names, None without one."""
    chart = str(values.get("chart") or "").strip()
    if not chart:
        return None
    texts = {name: str(values.get(f"chart_{name}") or "").strip() for name in ("repository", "version", "release")}
    given = str(values.get("chart_values") or "")
    return ChartSource(
        chart,
        **texts,
        values_files=charts.list_values_files(str(values.get("chart_values_files") or "")),
        values=given,
        applies_hooks=values.get("chart_hooks") in (True, "apply"),
    )


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


def _one_line(label: FieldLabel, most: int) -> forms.CharField:
    widget = forms.TextInput({"spellcheck": "false", "autocomplete": "off", "class": "code"})
    return forms.CharField(label=label, required=False, max_length=most, widget=widget)


class ChartFields(forms.Form):
    """The chart to render, and its values."""

    chart = _one_line(_("Chart"), 1000)
    chart_repository = _one_line(_("Chart repository"), 1000)
    chart_version = _one_line(_("Version"), 128)
    chart_release = _one_line(_("Release name"), 53)
    chart_values_files = forms.CharField(
        label=_("Values files"),
        required=False,
        max_length=4_000,
        widget=forms.Textarea({"rows": 2, "spellcheck": "false", "autocomplete": "off", "class": "code"}),
    )
    chart_hooks = forms.BooleanField(label=_("Apply hooks as ordinary objects"), required=False)

    @property
    def has_chart(self) -> bool:
        """Whether the answer of the form shows the fields of a chart: one is filled, or was refused."""
        names = [name for name in ("chart", *_OF_CHART) if name in self.fields]
        return any(self[name].value() or self[name].errors for name in names)

    def check_chart(self, found: Mapping[str, object]) -> None:
        """Refuse a chart that cannot be fetched or rendered, and fields without their chart."""
        chart = read_chart(found)
        if chart is None:
            if any(found.get(name) for name in _OF_CHART):
                self.add_error("chart", _("Name the chart to render."))
            return
        try:
            charts.check(chart)
        except SourceError as error:
            self.add_error(error.field or "chart", str(error))


class SourceFields(ChartFields):
    """The sources that are fetched or rendered: links, a git repository, a chart, a kustomization."""

    kustomization = forms.CharField(label=_("Kustomization"), required=False, max_length=500)
    links = forms.CharField(
        label=_("Links"),
        required=False,
        max_length=MOST_LINKS * 2001,
        widget=forms.Textarea({"rows": 2, "spellcheck": "false", "autocomplete": "off", "class": "code"}),
    )
    git_repository = _one_line(_("Repository"), 1000)
    git_ref = _one_line(_("Branch, tag or commit"), 250)
    git_path = _one_line(_("Path"), 400)

    @property
    def has_git(self) -> bool:
        """Whether the answer of the form shows the fields of a repository: one is filled, or was refused."""
        names = [name for name in ("git_repository", "git_ref", "git_path", "follow") if name in self.fields]
        return any(self[name].value() or self[name].errors for name in names)

    def clean_links(self) -> tuple[str, ...]:
        """Return one https link per line, or of an origin that the operator allows; each is named that is refused."""
        given = tuple(dict.fromkeys(filter(None, map(str.strip, self.cleaned_data["links"].splitlines()))))
        if len(given) > MOST_LINKS:
            raise forms.ValidationError(_("Enter at most %(most)d links."), params={"most": MOST_LINKS})
        allowed = tuple(f"{origin.rstrip('/')}/" for origin in settings.APPLYVIZ_LINK_HOSTS)
        refused = [link for link in given if not link.startswith(("https://", *allowed))]
        if refused:
            text = _("Only HTTPS URLs are supported, upload the files instead: %(link)s")
            raise forms.ValidationError([forms.ValidationError(text, params={"link": link}) for link in refused])
        return given

    def clean(self) -> dict[str, object]:
        """Refuse a repository and a chart that cannot be fetched or rendered."""
        found = super().clean() or self.cleaned_data
        self._check_git(found, has_files=bool(found.get("manifests") or found.get("folder")))
        self.check_chart(found)
        return found

    def _check_git(self, found: Mapping[str, object], *, has_files: bool) -> None:
        source = _read_git(found)
        if source is None:
            if found.get("git_ref") or found.get("git_path"):
                self.add_error("git_repository", _("Enter the address of the repository."))
            return
        if source.kustomization and has_files:
            self.add_error("kustomization", _("Render a folder of the upload or of the repository, not of both."))
        try:
            git_sources.check(source)
        except SourceError as error:
            self.add_error(error.field or "git_repository", str(error))


class SourceForm(SourceFields):
    """Manifests from files, a folder, a paste and every other source; any of them, at least one."""

    manifests = SeveralFilesField(label=_("Files"), required=False, allow_empty_file=True)
    folder = SeveralFilesField(label=_("Folder"), required=False, allow_empty_file=True)
    text = forms.CharField(label=_("Paste"), required=False, strip=False, max_length=5_000_000)
    paths = forms.CharField(required=False, max_length=500_000)
    chart_values = forms.CharField(
        label=_("Values"),
        required=False,
        strip=False,
        max_length=1_000_000,
        widget=forms.Textarea({"rows": 4, "spellcheck": "false", "autocomplete": "off", "class": "code"}),
    )
    again = forms.BooleanField(required=False)

    def clean_paths(self) -> list[str]:
        """Return the paths of a dropped folder, as the page's script lists them; none without script."""
        try:
            given = json.loads(self.cleaned_data["paths"] or "[]")
        except ValueError:
            return []
        return [str(path) for path in given] if isinstance(given, list) else []

    def clean(self) -> dict[str, object]:
        """Refuse a form without any manifest, and a kustomization without its folder."""
        found = super().clean() or self.cleaned_data
        has_files = bool(found.get("manifests") or found.get("folder"))
        if found.get("kustomization") and not (has_files or found.get("git_repository")):
            self.add_error("kustomization", _("Upload the folder that contains it above, or enter its repository."))
        if not self.errors and not any(found.get(name) for name in _ORIGINS):
            raise forms.ValidationError(
                _("Add at least one manifest: drop files, paste YAML or JSON, or name a link, a repository or a chart.")
            )
        return found

    def describe_input(
        self, *, is_fetching: bool = True, cluster: Cluster | None = None, namespace: str = ""
    ) -> ReviewInput:
        """Return the input of a form, unread; without its links and its chart unless `is_fetching`.

        - A chart is rendered for `cluster` and `namespace`.
        - A source that the form refuses is left out, so that the problems of the others are found with it.
        """
        values = self.cleaned_data
        is_chart_refused = not self.errors.keys().isdisjoint(("chart", *_OF_CHART))
        has_own_files = is_chart_refused or "kustomization" in self.errors  # what would be rendered is no manifest
        uploads = [] if has_own_files else [*values.get("manifests", ()), *values.get("folder", ())]
        paths = values.get("paths", ())
        names = paths if len(paths) == len(uploads) else [one.name or "upload.yaml" for one in uploads]
        return ReviewInput(
            files=tuple(zip(names, uploads, strict=True)),
            kustomization=values["kustomization"] if uploads else "",
            text=values.get("text", ""),
            links=values.get("links", ()) if is_fetching else (),
            git=_read_git(values) if is_fetching and self.errors.keys().isdisjoint(_OF_GIT) else None,
            chart=read_chart(values) if is_fetching and not is_chart_refused else None,
            cluster=cluster,
            namespace=namespace,
        )


class CompareFileForm(forms.Form):
    """One file to compare with the source of a plan."""

    file = forms.FileField(label=_("Your file"), allow_empty_file=True)


class NextSourceForm(SourceForm):
    """The manifests of the next plan; `seen` is the number of the plan that the page was opened on."""

    seen = forms.IntegerField(required=False, min_value=1, max_value=1_000_000, widget=forms.HiddenInput())
