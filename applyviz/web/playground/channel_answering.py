"""Calculate and render the answer about a kOps channel; of visitors' input only in a child process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from django.template.loader import render_to_string
from django.utils.translation import gettext
from msgspec import Struct

from applyviz.engine.channels.model import AddonPlan, AddonReason
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.risks.sentences import render_risk
from applyviz.guide import playground, whole_channels
from applyviz.guide.given import PlaygroundQueryError
from applyviz.guide.given_channels import ChannelQuery
from applyviz.guide.whole_channels import ChannelAnswer
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.reviews.pages.addons.table import AddonRow, present_addons

# kOps itself compares no versions any more.
_BY_VERSION = (
    AddonReason.GREATER_VERSION,
    AddonReason.LOWER_VERSION,
    AddonReason.LOWER_ENTRY,
    AddonReason.UNREADABLE_VERSION,
)


class PlannedAddonObject(Struct, frozen=True):
    """One object of an addon: what the plan does with it; `is_record`: it only records the addon as installed."""

    kind: str
    name: str
    namespace: str
    style: Appearance
    error: str
    risks: tuple[str, ...]
    is_record: bool


class AddonAnswer(Struct, frozen=True):
    """One entry of the channel, with the objects that it writes and prunes, and what was not computed."""

    row: AddonRow
    objects: tuple[PlannedAddonObject, ...]
    notes: tuple[str, ...]


def _present_object(change: PlannedObject) -> PlannedAddonObject:
    ref = change.ref
    risks = () if change.is_record else tuple(render_risk(risk, gettext) for risk in change.risks)
    style = OBJECT_STYLES[change.operation]
    shown = tuple(dict.fromkeys(risks))
    return PlannedAddonObject(ref.gvk.kind, ref.name, ref.namespace, style, change.error, shown, change.is_record)


def _group(changes: Iterable[PlannedObject]) -> Mapping[str, list[PlannedObject]]:
    found: dict[str, list[PlannedObject]] = {}
    for change in changes:
        found.setdefault(change.addon, []).append(change)
    return found


def _list_notes(one: AddonPlan, answer: ChannelAnswer) -> Iterator[str]:
    if not one.is_applied:
        return
    named = {"file": one.addon.file}
    if one.addon.file not in answer.files:
        yield gettext("%(file)s is not given: its hash is not checked, and its objects are not listed.") % named
    elif one.addon.file in answer.masked:
        yield gettext("%(file)s holds secrets, which are masked: its hash is not checked.") % named


def _list_answers(answer: ChannelAnswer, rows: Iterable[AddonRow]) -> Iterator[AddonAnswer]:
    changes = _group(answer.changes)
    for one, row in zip(answer.channel.addons, rows, strict=True):
        own = changes.get(one.addon.name, ()) if one.is_applied else ()
        yield AddonAnswer(row, tuple(map(_present_object, own)), tuple(_list_notes(one, answer)))


def _list_facts(answer: ChannelAnswer) -> Iterator[str]:
    """Yield what kOps does otherwise than a review, where it matters here."""
    yield gettext("Without --yes, the command only lists the updates.")
    yield gettext("kOps 1.36 and later do not ship this program; it runs on the nodes of the control plane.")
    if any(one.reason is AddonReason.WRONG_HASH for one in answer.channel.addons):
        yield gettext("kOps does not check the hash of a manifest: the command also applies what is not planned here.")
    if any(one.reason in _BY_VERSION for one in answer.channel.addons):
        yield gettext("Since 1.22, kOps compares no versions: the id, the hash and systemGeneration decide.")
    if any(not change.is_record and change.operation is Operation.UPDATE for change in answer.changes):
        yield gettext("kOps forces every conflict, as shown here. In a review, you resolve each one.")


def _list_notices(answer: ChannelAnswer) -> Iterator[Notice]:
    if answer.problems:
        yield Notice(OBJECT_STYLES[Operation.ERROR], gettext("Not every addon is recorded"), lines=answer.problems)


def render_channel(given: ChannelQuery, *, now: str) -> str:
    """Return the answer to a masked question as HTML. Raises `PlaygroundQueryError`."""
    answer = whole_channels.explain_channel(given, now=now)
    table = present_addons(answer.channel)
    context = {
        "command": given.command,
        "summary": table.summary,
        "addons": tuple(_list_answers(answer, table.rows)),
        "facts": tuple(_list_facts(answer)),
        "notices": tuple(_list_notices(answer)),
    }
    return render_to_string("playground/_channel_answer.html", context)


def answer(asked: JSONObject) -> JSONObject:
    """Return the answer to a question about a channel: the masked input and the answer as HTML, or its problems."""
    given = ChannelQuery.from_json(asked["given"])
    try:
        kept = given if asked["is_masked"] else whole_channels.without_secrets(given)
        return {"kept": kept.to_json(), "html": render_channel(kept, now=asked["now"])}
    except PlaygroundQueryError as error:
        problems = error.problems or (playground.NOT_COMPUTED,)
        return {"problems": [list(named) for named in playground.name_lines(problems, asked["given"])]}
