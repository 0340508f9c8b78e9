"""Reviews: opening one freezes the manifests and requests the first plan; a re-plan requests the next.

Plans are immutable: every change creates a new plan with its own number.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.objects.request_paths import find_segment_problem
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.digest.serialize import options_from_json, options_to_json
from applyviz.engine.requests.options import ApplyOptions
from applyviz.queue import TaskName
from applyviz.records import keyed_hashes
from applyviz.records.enums import Applier, AuditAction, PlanState, ReviewState
from applyviz.records.models import Cluster, Plan, Review, ReviewScope, SourceFile, SourceRevision, Target
from applyviz.records.sealing import Unsealed, make_content_key
from applyviz.sources.bundle import BundledFile, SourceBundle, digest_bytes
from applyviz.sources.git.model import GIT
from applyviz.sources.links import hide_query
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access, outbox, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.foundation.sequences import next_number
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import charts, git_sources, resolutions, source_digests, source_mix
from applyviz.workflow.plans.charts import CHART
from applyviz.workflow.plans.object_choices import take_back
from applyviz.workflow.plans.presets import UsedPreset
from applyviz.workflow.plans.resolutions import Choice
from applyviz.workflow.plans.source_runs import earlier_plans, followings, parsed_sources


def _list_links(bundle: SourceBundle) -> dict[str, list[str]]:
    """Return the links that files were fetched from, without their queries; {} without any."""
    links = [hide_query(file.provenance["url"]) for file in bundle.files if "url" in file.provenance]
    return {"links": links} if links else {}


def _find_commit(bundle: SourceBundle) -> dict[str, JSONValue]:
    """Return the facts of the commit that files were taken from, and their number; {} without a repository."""
    facts = dict(git_sources.find_facts(bundle))
    return {GIT: facts, "git_files": git_sources.count_files(bundle)} if facts else {}


def _find_chart(bundle: SourceBundle) -> dict[str, JSONValue]:
    """Return the facts of the chart that files were rendered from; {} without one."""
    facts = dict(charts.find_facts(bundle))
    return {CHART: facts} if facts else {}


def _keep_of_file(file: BundledFile) -> dict[str, str]:
    """Return what is stored of the provenance of one file; the facts of its chart and its commit are stored once."""
    kept = charts.keep_of_file(file) if charts.is_rendered(file) else dict(file.provenance)
    return git_sources.keep_of_file(replace(file, provenance=kept))


def _freeze(bundle: SourceBundle, *, by: Person) -> SourceRevision:
    salt = source_digests.make_salt()
    key = source_digests.key_of(salt)
    revision = SourceRevision(
        digest=bundle.make_digest(key),
        salt=salt,
        provenance=as_stored(
            {
                "files": len(bundle.files),
                "bytes": bundle.size,
                **_list_links(bundle),
                **_find_commit(bundle),
                **_find_chart(bundle),
                "sources": source_mix.count_kinds(bundle),
            }
        ),
        created_at=clock.host_now(),
        created_by=by,
    )
    row_macs.vouch(revision)
    revision.save(force_insert=True)
    sealed_by = make_content_key()
    SourceFile.objects.bulk_create(
        SourceFile(
            revision=revision,
            position=position,
            name=file.name,
            content=Unsealed.of_bytes(file.data, sealed_by),
            digest=digest_bytes(file.data, key),
            size=len(file.data),
            provenance=as_stored(_keep_of_file(file)),
        )
        for position, file in enumerate(bundle.files)
    )
    parsed_sources.keep_read(revision, bundle)
    return revision


def _keep_origins(revision: SourceRevision) -> dict[str, JSONValue]:
    """Return what the audit log keeps of where manifests came from: links, commit, chart, and the files of each."""
    kept: dict[str, JSONValue] = {}
    if "links" in revision.provenance:
        kept["links"] = revision.provenance["links"]
    facts = revision.provenance.get(GIT, {})
    if facts:
        kept[GIT] = {name: facts.get(name, "") for name in ("repository", "ref", "commit")}
    kinds = revision.provenance.get("sources", [])
    if len(kinds) > 1:
        kept["sources"] = [f"{count} {kind}" for kind, count in kinds]
    if CHART in revision.provenance:
        texts = ("notes", "warnings")
        kept[CHART] = {name: text for name, text in revision.provenance[CHART].items() if name not in texts}
    return kept


note_commits: Callable[[Plan], None] | None = None
"""Records the people behind the commits of a new plan, set by `approvals.commit_ranges`."""


def _list_authors(earlier: Sequence[Plan], review: Review, revision: SourceRevision, by: Person) -> list[int]:
    """Return who wrote or requested the next plan of a review, or one before it."""
    known = earlier[0].authors if earlier else ()
    return sorted({*known, review.author_id, revision.created_by_id, by.pk})


def can_be_followed(plan: Plan) -> bool:
    """Return whether the next plan of its review can be made from this one now.

    - It is complete and the latest of an open review, and its cluster is neither paused nor archived.
    """
    latest = plan.review.latest_plan
    is_open = plan.review.state == ReviewState.OPEN and not states.find_stop(plan.target.cluster)
    return is_open and plan.state == PlanState.COMPLETE and latest is not None and latest.pk == plan.pk


def _request_plan(
    review: Review,
    *,
    target: Target,
    revision: SourceRevision,
    options: ApplyOptions,
    by: Person,
    decided: Sequence[JSONObject] = (),
    followed: str = "",
) -> Plan:
    """Request the next plan; raises `NotValidError` for a namespace that would lead requests to another path."""
    if problem := find_segment_problem(options.namespace):
        raise NotValidError(_("a namespace %(problem)s") % {"problem": problem})
    states.require_open(target.cluster)
    number = next_number(review.plans.all())
    earlier = earlier_plans.list_genuine(review, number, revision) if number > 1 else ()
    plan = Plan(
        review=review,
        target=target,
        revision=revision,
        number=number,
        options=options_to_json(options),
        decisions=list(decided),
        requested_by=by,
        authors=_list_authors(earlier, review, revision, by),
        followed=earlier_plans.find_followed(earlier, review, revision),
        tag_key=Unsealed.of_bytes(secrets.token_bytes(32)),
        created_at=clock.host_now(),
    )
    row_macs.vouch(plan)
    plan.save()
    trail.record(
        AuditAction.PLAN_REQUESTED,
        by=by,
        about=trail.AuditSubject(cluster=target.cluster.slug, review=review.number, plan=plan.number),
        detail={
            "source": revision.digest,
            **_keep_origins(revision),
            "options": plan.options,
            **({"followed": followed} if followed else {}),
        },
    )
    if note_commits is not None:
        note_commits(plan)
    outbox.post(TaskName.MAKE_PLAN, plan_id=plan.id)
    return plan


def _keep_preset(review: Review) -> dict[str, JSONValue]:
    """Return what the audit log keeps of the preset: its slug and version, and the names of the changed fields."""
    if review.preset is None:
        return {}
    changed = [str(change["field"]) for change in review.preset_changes]
    return {"preset": review.preset.slug, "preset version": review.preset_version, "changed from preset": changed}


def create_review(
    *,
    by: Person,
    title: str,
    reason: str,
    ticket: str,
    cluster: Cluster,
    options: ApplyOptions,
    bundle: SourceBundle,
    applied_by: Applier = Applier.SELF,
    preset: UsedPreset | None = None,
    followed: str = "",
) -> Review:
    """Open a review: freeze its manifests and request plan 1.

    - `preset`: what filled the options; the review remembers it, and nothing else does.
    - `followed`: the branch whose push led to it, for the audit log.
    - `applied_by`: another tool applies it; its plans can be approved, but never run here.
    - Raises `NotAllowedError` without the role author, `NotValidError` without title or manifests.
    """
    scope = ScopeEntry(cluster.slug, options.namespace)
    access.require(by, Action.WRITE, [scope])
    if not title.strip():
        raise NotValidError(_("a review needs a title"))
    if not bundle.files:
        raise NotValidError(_("a review needs at least one manifest"))
    now = clock.host_now()
    with transaction.atomic():
        review = Review.objects.create(
            number=next_number(Review.objects.all()),
            title=title.strip(),
            reason=reason,
            ticket=ticket,
            applied_by=applied_by,
            author=by,
            created_at=now,
            updated_at=now,
            preset=preset.preset if preset else None,
            preset_version=preset.preset.version if preset else 0,
            preset_changes=list(preset.changes) if preset else [],
        )
        target = Target.objects.create(review=review, cluster=cluster)
        ReviewScope.objects.create(review=review, cluster=cluster, namespace=scope.namespace)
        trail.record(
            AuditAction.REVIEW_CREATED,
            by=by,
            about=trail.AuditSubject(cluster=cluster.slug, review=review.number),
            detail={
                "title": review.title,
                "ticket": ticket,
                **({"applied by": applied_by} if applied_by else {}),
                **_keep_preset(review),
            },
        )
        revision = _freeze(bundle, by=by)
        _request_plan(review, target=target, revision=revision, options=options, by=by, followed=followed)
    return review


def replan_review(
    review: Review,
    *,
    by: Person,
    bundle: SourceBundle | None = None,
    options: ApplyOptions | None = None,
    choices: Iterable[Choice] = (),
    note: str = "",
    undone: int | None = None,
    followed: str = "",
    seen: Plan | None = None,
) -> Plan:
    """Request the next plan of a review, from the same manifests and options or new ones.

    - `followed`: the branch whose push led to it, for the audit log.
    - `choices` resolve conflicts of the latest plan; earlier resolutions stay valid for their fields.
    - `undone`: the index of one resolution of the latest plan that the next plan drops.
    - `seen`: the plan that the person chose on; refused once somebody else made a later one.
    - Options that force conflicts resolve each open conflict by its field: a conflict that was not shown is not forced.
    - Raises `NotPossibleError` while a plan is being created, and once the review was applied or closed.
    """
    access.require(by, Action.WRITE, access.scopes_of(review))
    with transaction.atomic():
        review = lock_review(review.pk)
        latest = review.latest_plan
        if review.state != ReviewState.OPEN:
            raise NotPossibleError(
                _("this review is %(state)s; create a new review") % {"state": review.get_state_display()}
            )
        if latest is None or latest.state == PlanState.PLANNING:
            raise NotPossibleError(_("a plan is already being created"))
        if seen is not None and latest.pk != seen.pk:
            raise NotPossibleError(_("this plan was superseded by a later plan; open that plan"))
        options_before = options_from_json(latest.options)
        if options is None:  # what was left out of other manifests is in again
            options = options_before if bundle is None else take_back(options_before)
        if options.takes_over and not options_before.takes_over:
            choices = (*choices, *resolutions.choose_everywhere(latest, ResolutionKind.OVERWRITE))
            options = replace(options, takes_over=False)
        if undone is None:
            decided = resolutions.record_choices(latest, choices, by=by, note=note)
        else:
            decided = resolutions.undo_resolution(latest, undone, by=by)
        revision = latest.revision if bundle is None else _freeze(bundle, by=by)
        followings.end_left(review, revision, by=by)
        plan = _request_plan(
            review,
            target=latest.target,
            revision=revision,
            options=options,
            by=by,
            decided=decided,
            followed=followed,
        )
        Review.objects.filter(pk=review.pk).update(updated_at=clock.host_now())
    return plan


def has_same_bytes(revision: SourceRevision, bundle: SourceBundle) -> bool:
    """Return whether a bundle holds the same files, byte for byte, as a stored revision."""
    return keyed_hashes.is_same(bundle.make_digest(source_digests.key_of(revision.salt)), revision.digest)


def close_review(review: Review, *, by: Person) -> None:
    """Close a review without applying it."""
    access.require(by, Action.WRITE, access.scopes_of(review))
    with transaction.atomic():
        closed = Review.objects.filter(pk=review.pk, state=ReviewState.OPEN).update(
            state=ReviewState.CLOSED, updated_at=clock.host_now()
        )
        if not closed:
            raise NotPossibleError(_("only an open review can be closed"))
        trail.record(AuditAction.REVIEW_CLOSED, by=by, about=trail.AuditSubject(review=review.number))


def get_review(number: int, *, for_user: Visitor) -> Review:
    """Return one review by its number; raises `NotVisibleError` when it does not exist or is not visible."""
    access.require(for_user, Action.VIEW)
    missing = NotVisibleError(f"there is no review {number}")
    try:
        found = Review.objects.select_related("author").get(number=number)
    except Review.DoesNotExist as error:
        raise missing from error
    if not access.can(for_user, Action.VIEW, access.scopes_of(found)):
        raise missing
    return found


def list_reviews(*, for_user: Visitor) -> QuerySet[Review]:
    """Return the reviews that this person may see, newest first."""
    access.require(for_user, Action.VIEW)
    seen = Review.objects.filter(access.select_reviews(for_user))
    return seen.select_related("author").prefetch_related("targets__cluster")
