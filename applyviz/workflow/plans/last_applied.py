"""Editing last-applied of one object: a review of its own, as `kubectl apply edit-last-applied` writes it."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyOptions, SetAction
from applyviz.records.models import Plan, Review
from applyviz.sources.bundle import SourceBundle
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.plans import reviews


def open_review(
    plan: Plan, change: PlannedObject, bundle: SourceBundle, files: Iterable[ParsedFile], *, by: Person
) -> Review:
    """Open a review that sets last-applied of the object of a change to the one object of these files.

    - Raises `NotValidError` if they hold another object, or several.
    """
    options, ref = options_from_json(plan.options), change.ref
    found = [document.ref for file in files for document in file.documents]
    named = [one if one.namespace or not ref.namespace else one._replace(namespace=options.namespace) for one in found]
    if [one.key for one in named] != [ref.key]:
        raise NotValidError(_("write exactly one object, %(ref)s, as it was last applied") % {"ref": str(ref)})
    kept = ApplyOptions(field_manager=options.field_manager, namespace=options.namespace)
    return reviews.create_review(
        by=by,
        title=_("Edit last-applied of %(kind)s/%(name)s") % {"kind": ref.gvk.kind, "name": ref.name},
        reason="",
        ticket=plan.review.ticket,
        cluster=plan.target.cluster,
        options=replace(kept, action=SetAction.SET_LAST_APPLIED),
        bundle=bundle,
    )
