"""Git repositories as sources of reviews: fetched where credentials may be opened, by the rules of links.

A web process of a team asks a worker (`worker_requests`), which fetches as the person who asked and returns the files
sealed for that process alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from django.conf import settings

from applyviz import clock
from applyviz.records.models import SourceRevision
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts.model import ChartSource
from applyviz.sources.git import fetching
from applyviz.sources.git.model import GIT, FetchedFiles, GitSource, RefusedFilesError
from applyviz.sources.rendering.choose import make_runner
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.plans import repository_credentials
from applyviz.workflow.plans.fetch_policy import make_policy

_FACTS = (
    "repository", "ref", "ref_kind", "asked_ref", "path", "kustomization", "fetched_at",
    "commit", "author", "date", "subject", "history", "people",
    "chart_path", "values_files", "asked_release", "own_values", "hooks",
)  # fmt: skip


def check(source: GitSource) -> None:
    """Refuse what cannot be fetched, without network access; raises `SourceError`."""
    fetching.check(source, policy=make_policy())


def fetch_now(source: GitSource, *, by: Person) -> FetchedFiles:
    """Fetch in this process, with the credential that the person may use.

    - Raises `SourceError`, and `NotAllowedError` without the role author.
    """
    access.require(by, Action.WRITE)
    policy = make_policy()
    credential = repository_credentials.find_for(fetching.check(source, policy=policy).url, by=by)
    found = fetching.fetch(source, policy=policy, now=clock.host_now().isoformat(), credential=credential)
    return fetching.add_history(found, source, policy=policy, credential=credential)


Fetch = Callable[[GitSource, Person], FetchedFiles]
ask_fetch: Fetch | None = None
"""How repositories are fetched, set by `worker_requests`: here, or by a worker."""


def fetch_commit(source: GitSource, *, by: Person) -> FetchedFiles:
    """Return the files of a repository, unrendered, with the facts of their commit; raises `SourceError`."""
    check(source)
    return fetch_now(source, by=by) if ask_fetch is None else ask_fetch(source, by)


def fetch_files(source: GitSource, *, by: Person) -> Iterator[BundledFile]:
    """Yield the files of a repository, rendered if a kustomization is named; raises `SourceError`.

    - Files that are refused raise after the others, so that the problems of those are known too.
    """
    refused: RefusedFilesError | None = None
    try:
        received = fetch_commit(source, by=by)
    except RefusedFilesError as error:
        if source.kustomization:
            raise
        received, refused = error.received, error
    yield from fetching.freeze(received, source, run=make_runner(settings.APPLYVIZ_RENDERER_SOCKET))
    if refused is not None:
        raise refused


def find_facts(bundle: SourceBundle) -> Mapping[str, str]:
    """Return the facts of the commit that files of a bundle came from, {} if none did."""
    found = next((file.provenance for file in bundle.files if "commit" in file.provenance), {})
    return {name: found[name] for name in _FACTS if found.get(name)}


def count_files(bundle: SourceBundle) -> int:
    """Return the number of files that came from a repository."""
    return sum("commit" in file.provenance for file in bundle.files)


def is_whole(facts: Mapping[str, str]) -> bool:
    """Return whether a repository alone holds what manifests were rendered from, by its facts."""
    return not facts.get("own_values")


def find_again(revision: SourceRevision) -> GitSource | None:
    """Return what to fetch for a newer commit; None for a fixed commit, and if other files or values would be lost.

    - The chart that it is fetched for is that of `find_chart`.
    """
    facts = revision.provenance.get(GIT)
    if not facts or facts.get("ref_kind") == "commit" or not is_whole(facts):
        return None
    if revision.provenance.get("git_files") != revision.provenance.get("files"):
        return None
    path, folder = facts.get("path", ""), facts.get("kustomization", "")
    return GitSource(facts["repository"], facts.get("asked_ref", ""), path, folder)


def find_chart(revision: SourceRevision) -> ChartSource | None:
    """Return the chart of a repository that a revision was rendered from, as it was named; None without one."""
    facts = revision.provenance.get(GIT, {})
    if not facts.get("chart_path"):
        return None
    return ChartSource(
        facts["chart_path"],
        release=facts.get("asked_release", ""),
        values_files=tuple(facts.get("values_files", "").splitlines()),
        applies_hooks=facts.get("hooks") == "apply",
    )


def find_commit(revision: SourceRevision) -> str:
    """Return the id of the commit that a revision was taken from; "" without a repository."""
    return str(revision.provenance.get(GIT, {}).get("commit", ""))


def keep_of_file(file: BundledFile) -> dict[str, str]:
    """Return what is stored of the provenance of one file: the facts of a commit are stored once, for all."""
    if "commit" not in file.provenance:
        return dict(file.provenance)
    kept = {name: text for name, text in file.provenance.items() if name not in _FACTS}
    return {**kept, GIT: file.provenance["commit"]}
