"""Forms of API requests: a review with its files, the digest to run, how long to wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions
from applyviz.records.models import Cluster
from applyviz.sources.bundle import SourceBundle
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.web.reviews.forms.reviews import MODES
from applyviz.workflow.plans.intake import Given, read_manifests

MOST_FILES = 2_000
_DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class _TextForm(forms.Form):
    """Text fields of a JSON object; a value of another type and an unknown name are problems."""

    extra: frozenset[str] = frozenset()

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._odd = [name for name in given if name not in self.base_fields and name not in self.extra]
        self._untyped = [n for n, v in given.items() if n in self.base_fields and not isinstance(v, (str, type(None)))]
        super().__init__({name: value for name, value in given.items() if isinstance(value, str)})

    def clean(self) -> dict[str, Any]:
        """Report unknown names: a misspelled option must not be ignored silently."""
        for name in self._untyped:
            self.add_error(name, "must be text")
        for name in self._odd[:20]:
            self.add_error(None, f"there is no field {name[:80]!r}")
        return self.cleaned_data


class ReviewForm(_TextForm):
    """A review: its target, reason and options."""

    extra = frozenset({"files"})
    title = forms.CharField(max_length=200)
    reason = forms.CharField(required=False, max_length=5000)
    ticket = forms.CharField(required=False, max_length=400)
    cluster = forms.SlugField(max_length=63)
    namespace = forms.RegexField(_DNS_LABEL, required=False, max_length=63)
    mode = forms.ChoiceField(choices=MODES, required=False)
    field_manager = forms.RegexField(r"^[!-~]+$", required=False, max_length=128)
    client_side_ownership = forms.ChoiceField(choices=[("move", "move"), ("keep", "keep")], required=False)
    kustomization = forms.CharField(required=False, max_length=500)

    @property
    def options(self) -> ApplyOptions:
        """Return the options for the engine."""
        chosen = self.cleaned_data
        return ApplyOptions(
            mode=ApplyMode(chosen["mode"] or ApplyMode.SERVER),
            field_manager=chosen["field_manager"] or PRODUCT_MANAGER,
            namespace=chosen["namespace"] or "default",
            takes_client_side=chosen["client_side_ownership"] != "keep",
        )


class FilesForm(_TextForm):
    """New manifests for the next plan of a review."""

    extra = frozenset({"files"})
    kustomization = forms.CharField(required=False, max_length=500)


class APIDigestForm(_TextForm):
    """The digest that the client read: anything else does not run."""

    digest = forms.CharField(max_length=80)


class NothingForm(_TextForm):
    """An empty body."""


class WaitForm(forms.Form):
    """How long to wait for a change since the last answer, and which page of the objects."""

    wait = forms.IntegerField(required=False, min_value=0, max_value=60)
    seen = forms.CharField(required=False, max_length=80)
    start = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    count = forms.IntegerField(required=False, min_value=0, max_value=500)


def _list_parts(given: Any, problems: list[SourceProblem]) -> Iterator[tuple[str, bytes]]:
    for place, file in enumerate(given):
        name = file.get("name") if isinstance(file, dict) else None
        content = file.get("content") if isinstance(file, dict) else None
        if not isinstance(name, str) or not name or not isinstance(content, str):
            problems.append(SourceProblem("a file has a name and its content as text", field=f"files[{place}]"))
        else:
            yield name, content.encode()


def read_files(given: JSONObject, kustomization: str = "") -> SourceBundle:
    """Freeze and parse the manifests of a JSON body; raises `ProblemsError` with every problem and its line."""
    listed = given.get("files")
    if not isinstance(listed, list) or not listed or len(listed) > MOST_FILES:
        raise ProblemsError([SourceProblem(f"bring 1 to {MOST_FILES} files: [{{name, content}}]", field="files")])
    problems: list[SourceProblem] = []
    parts = list(_list_parts(listed, problems))
    if problems:
        raise ProblemsError(problems)
    try:
        taken = read_manifests(Given(files=tuple(parts), kustomization=kustomization))
    except SourceError as error:
        raise ProblemsError([SourceProblem(str(error), field="files")]) from error
    found = [
        SourceProblem(p.reason, file=p.position.file, line=p.position.line, column=p.position.column)
        for file in taken.files
        for p in file.problems
    ]
    if not found and not taken.has_objects:
        found = [SourceProblem("the files hold no object", field="files")]
    if found:
        raise ProblemsError(found)
    return taken.bundle


def find_cluster(clusters: QuerySet[Cluster], chosen: Mapping[str, Any]) -> Cluster:
    """Return the cluster that a form names, among visible ones; raises `ProblemsError`."""
    found = clusters.filter(slug=chosen["cluster"]).first()
    if found is None:
        raise ProblemsError([SourceProblem(f"there is no cluster {chosen['cluster']}", field="cluster")])
    return found
