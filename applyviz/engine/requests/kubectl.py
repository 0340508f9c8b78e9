"""Reproduce a whole `kubectl apply`: its requests, its output, its exit code.

Rule: k8s.io/kubectl `pkg/cmd/apply`. All manifests are read before the first request; one invalid object does not stop
the others, but any error skips printing of objects and pruning. Messages on stderr are reported, not imitated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument, ParsedFile
from applyviz.engine.objects.errors import ApplyVizError, ManifestError
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.requests import applyset, prune
from applyviz.engine.requests.argv import ApplyCommand
from applyviz.engine.requests.client_side import apply_client_side
from applyviz.engine.requests.flow import Catalog, Flow, FlowOutcome
from applyviz.engine.requests.listcheck import check_item
from applyviz.engine.requests.members import Member, place_member, read_labels
from applyviz.engine.requests.options import ApplyMode, DryRun, PruneMode, Validation
from applyviz.engine.requests.selectors import parse_selector
from applyviz.engine.requests.server_side import apply_server_side

_SUFFIXES = {DryRun.NONE: "", DryRun.CLIENT: " (dry run)", DryRun.SERVER: " (server dry run)"}


class CommandResult(Struct, frozen=True):
    """The output of a command: the lines of stdout (default output and `-o name`), the exit code, and what
    went wrong or was warned of."""

    lines: tuple[str, ...] = ()
    exit_code: int = 0
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass
class _Run:
    command: ApplyCommand
    catalog: Catalog
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    has_server_warnings: bool = False
    visited_uids: set[str] = field(default_factory=set)
    visited_namespaces: set[str] = field(default_factory=set)

    def note(self, outcome: FlowOutcome) -> None:
        """Print a line in the output format."""
        self.warnings += outcome.warnings
        if self.command.output == "name":
            self.lines.append(outcome.name)
        elif not self.command.prints_objects:
            self.lines.append(outcome.line + _SUFFIXES[self.command.options.dry_run])

    def result(self) -> CommandResult:
        failed = bool(self.errors) or (self.command.fails_on_warnings and self.has_server_warnings)
        return CommandResult(tuple(self.lines), int(failed), tuple(self.errors), tuple(self.warnings))


def _reads_on(file: ParsedFile) -> bool:
    """Return whether kubectl without validation reads a whole file: all of its text can be parsed."""
    return all(p.reason.endswith(("not set", "not set]")) for p in file.problems)


def _readable(run: _Run, file: ParsedFile) -> Sequence[ManifestDocument]:
    """Return the documents that kubectl reads before it stops in a file; a bad List is left out as a whole."""
    validation = run.command.options.validation
    documents = file.documents[: file.kubectl_stops_after]
    if validation is Validation.IGNORE and _reads_on(file):
        unversioned = [p.document for p in file.problems if p.document is not None]
        found = [*file.documents, *unversioned]
        return sorted(found, key=lambda d: (d.position.line, d.position.column)) if unversioned else found
    if validation is not Validation.STRICT:
        return documents
    first = 0
    for index, document in enumerate(documents):
        if document.list_kind != "List":
            first = index + 1
            continue
        wrong = check_item(document.obj, run.catalog)
        if wrong:
            run.errors += [f"{document.position}: {reason}" for reason in wrong]
            return documents[:first]
    return documents


def _read_members(run: _Run, files: Sequence[ParsedFile]) -> list[Member]:
    options = run.command.options
    selector = parse_selector(options.selector)
    members = []
    for file in files:
        is_lenient = options.validation is Validation.IGNORE and _reads_on(file)
        run.errors += [str(p) for p in file.problems if p.document is None or not is_lenient]
        for document in _readable(run, file):
            if not selector.matches(read_labels(document.obj)):
                continue
            try:
                members.append(place_member(document.obj, options=options, catalog=run.catalog))
            except ApplyVizError as error:
                reason = error.reason if isinstance(error, ManifestError) else str(error)
                run.errors.append(f"{document.position}: {reason}")
    return members


def _attempt(run: _Run, step: Callable[[], Flow[None]]) -> Flow[bool]:
    """Take a step of the flow, and record its failure."""
    try:
        yield from step()
    except ApplyVizError as error:
        run.errors.append(str(error))
        return False
    return True


def _apply_one(run: _Run, member: Member) -> Flow[None]:
    command = run.command
    if member.resource.is_namespaced:
        run.visited_namespaces.add(member.namespace)
    if command.options.mode is ApplyMode.SERVER:
        outcome = yield from apply_server_side(member.obj, resource=member.resource, options=command.options)
    else:
        outcome = yield from apply_client_side(
            member.obj,
            resource=member.resource,
            kind=member.kind,
            options=command.options,
            deletion=command.deletion,
        )
    visited: JSONObject = outcome.obj if outcome.live is None else outcome.live
    run.visited_uids.add(get_at(visited, ("metadata", "uid")) or "")
    run.note(outcome)


def _delete_all(run: _Run, doomed: Sequence[prune.Prunable]) -> Flow[None]:
    for found in doomed:
        run.note((yield from prune.delete_one(found, run.command.options, run.command.deletion)))


def _prune_allowlist(run: _Run) -> Flow[None]:
    options = run.command.options
    resources, _ = prune.read_allowlist(options.prune.allowlist, run.catalog)
    for resource, namespace in prune.list_searches(resources, run.visited_namespaces):
        found = yield from prune.find_prunable(resource, namespace, options.selector, run.visited_uids)
        doomed = [one for one in found if one.is_applied]
        yield from _delete_all(run, doomed)


class _Set(Struct, frozen=True):
    """The ApplySet of a run: its parent, its content before, and its content after."""

    parent: applyset.Parent
    before: applyset.Content
    after: applyset.Content


def _open_applyset(run: _Run, parent: applyset.Parent, members: Sequence[Member]) -> Flow[_Set]:
    options = run.command.options
    before = yield from applyset.fetch_content(parent, run.catalog)
    after = applyset.collect_content((m.resource, m.namespace) for m in members)
    yield from applyset.write_parent(parent, before | after, options)
    return _Set(parent, before, after)


def _prune_applyset(run: _Run, opened: _Set) -> Flow[None]:
    doomed = yield from applyset.find_members(opened.parent, opened.before, run.visited_uids)
    yield from _delete_all(run, doomed)
    yield from applyset.write_parent(opened.parent, opened.after, run.command.options)


def _label_members(run: _Run, parent: applyset.Parent, members: list[Member]) -> list[Member]:
    """Return all members with the label of the set; none if one of them already names a set."""
    try:
        return [replace(m, obj=applyset.add_label(m.obj, parent)) for m in members]
    except applyset.ApplySetError as error:
        run.errors.append(str(error))
        return []


def _apply_all(run: _Run, files: Sequence[ParsedFile], parent: applyset.Parent | None) -> Flow[None]:
    members = _read_members(run, files)
    opened = None
    if parent is not None:
        members = _label_members(run, parent, members)
    if not members and not run.errors:
        run.errors.append("no objects passed to apply")
        return
    if parent is not None:
        opened = yield from _open_applyset(run, parent, members)
    for member in members:
        yield from _attempt(run, partial(_apply_one, run, member))
    if run.errors:
        return
    if opened is not None:
        yield from _prune_applyset(run, opened)
    elif run.command.options.prune.mode is PruneMode.ALLOWLIST:
        yield from _prune_allowlist(run)


def _find_parent(run: _Run) -> Flow[applyset.Parent | None]:
    options = run.command.options
    if options.prune.mode is not PruneMode.APPLYSET:
        return None
    namespace = options.namespace if options.is_namespace_enforced else ""
    parent = applyset.find_parent(options.prune.applyset, namespace=namespace, catalog=run.catalog)
    yield from applyset.check_parent_kind(parent)
    return parent


def _start(run: _Run, files: Sequence[ParsedFile]) -> Flow[None]:
    """Check the command itself; an invalid command ends before any object is applied."""
    parent = yield from _find_parent(run)
    if run.command.options.prune.mode is PruneMode.ALLOWLIST:
        _, wrong = prune.read_allowlist(run.command.options.prune.allowlist, run.catalog)
        if wrong:
            run.errors += wrong
            return
    yield from _apply_all(run, files, parent)


def run_apply(
    files: Sequence[ParsedFile], *, command: ApplyCommand, catalog: Catalog, problems: Sequence[str] = ()
) -> Flow[CommandResult]:
    """Apply all objects of the files as the command asks; `problems` are the texts that could not be read."""
    run = _Run(command, catalog, errors=list(problems))
    flow = _attempt(run, partial(_start, run, files))
    try:
        request = next(flow)
        while True:
            answer = yield request
            run.has_server_warnings = run.has_server_warnings or bool(answer.warnings)
            request = flow.send(answer)
    except StopIteration:
        return run.result()
