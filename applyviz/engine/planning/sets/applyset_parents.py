"""Plan the parent of an ApplySet: written before the members (all potential ones) and after (the actual ones).

Rule: KEP-3659. The first write covers old and new kinds and namespaces, so that nothing is lost if a run stops half
way; the last one only what remains. If both are equal there is only one write.
"""

from __future__ import annotations

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.planner import plan_member
from applyviz.engine.requests import applyset
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions


def _options(options: ApplyOptions, parent: applyset.Parent) -> ApplyOptions:
    """Return the options of a parent: written by the tool's own manager, which owns these fields."""
    return replace(
        options,
        mode=ApplyMode.SERVER,
        field_manager=parent.manager,
        takes_over=True,
        has_preconditions=True,
        takes_client_side=False,
        takes_from=(),
        subresource="",
        is_replacing_on_error=False,
    )


def plan_parent(
    parent: applyset.Parent,
    content: applyset.Content,
    *,
    options: ApplyOptions,
    context: PlanningContext,
    follows: PlannedObject | None = None,
) -> Flow[PlannedObject]:
    """Plan one write of the parent; `follows` is the write before it in the same plan."""
    obj = applyset.render_parent(parent, content)
    member = Member(obj, parent.resource, context.catalog.find_kind(parent.resource.gvk))
    return (yield from plan_member(member, options=_options(options, parent), context=context, follows=follows))
