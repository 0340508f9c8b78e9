"""Read models of the history of one person, one cluster and one field manager: facts and entries."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.owners import Owner
from applyviz.records.models import AuditEntry, Cluster
from applyviz.web.components.notices import PlanFact
from applyviz.web.components.owners import present_owner
from applyviz.web.history.pages.entries import HistoryPage, present_history
from applyviz.workflow.audit.trail import SYSTEM
from applyviz.workflow.evidence.name_filters import HistoryFilter
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.errors import NotVisibleError

_RECENT = 2_000


class SubjectPage(Struct, frozen=True):
    """The name of the subject, facts, and a page of entries."""

    sort: str
    name: str
    facts: tuple[PlanFact, ...]
    entries: HistoryPage
    filter_url: str


def _present(
    sort: str, name: str, facts: list[PlanFact], chosen: HistoryFilter, before: int | None, for_user: Visitor
) -> SubjectPage:
    page = present_history(chosen, before=before, for_user=for_user, is_exact=True)
    facts += _present_ends(chosen, for_user)
    return SubjectPage(
        sort, name, tuple(fact for fact in facts if fact.text), page, reverse("history:list-entries") + page.query
    )


def _seen(for_user: Visitor) -> QuerySet[AuditEntry]:
    return access.visible_entries(AuditEntry.objects.all(), for_user)


def _present_ends(chosen: HistoryFilter, for_user: Visitor) -> list[PlanFact]:
    columns = {"person": "actor_name", "cluster": "cluster", "manager": "field_manager"}
    found = _seen(for_user).filter(**{columns[name]: value for name, value in chosen.items()})
    moments = [found.order_by(order).values_list("at", flat=True).first() for order in ("id", "-id")]
    labels = (_("First entry"), _("Last entry"))
    return [
        PlanFact(label, date_format(localtime(at), "j M Y H:i T"))
        for label, at in zip(labels, moments, strict=True)
        if at is not None
    ]


def present_person(name: str, *, before: int | None, for_user: Visitor) -> SubjectPage:
    """Return the acts of one person; raises when the name has neither entries nor an account."""
    person = User.objects.filter(username=name).first()
    chosen = {"person": name}
    if person is None and not _seen(for_user).filter(actor_name=name).exists():
        raise NotVisibleError(f"nothing is known of {name}")
    facts = []
    if person is not None:
        roles = sorted(str(role.label) for role in access.roles_of(person))
        facts = [
            PlanFact(_("Account"), _("active") if person.is_active else _("deactivated")),
            PlanFact(_("Current roles"), ", ".join(roles) or _("none")),
        ]
    elif name == SYSTEM:
        facts = [PlanFact(_("Account"), _("none (applyviz worker)"))]
    else:
        facts = [PlanFact(_("Account"), _("none"))]
    return _present(_("Person"), name, facts, chosen, before, for_user)


def present_cluster_history(slug: str, *, before: int | None, for_user: Visitor) -> SubjectPage:
    """Return the history of one cluster."""
    cluster = Cluster.objects.filter(slug=slug).first()
    is_known = access.sees_cluster(for_user, slug) if cluster else _seen(for_user).filter(cluster=slug).exists()
    if not is_known:
        raise NotVisibleError(f"nothing is known of {slug}")
    facts = []
    if cluster is not None:
        url = reverse("clusters:show-cluster", args=[slug])
        facts = [PlanFact(_("Cluster"), cluster.name, url=url), PlanFact(_("Identity"), cluster.uid, is_code=True)]
    return _present(_("Cluster"), slug, facts, {"cluster": slug}, before, for_user)


def present_manager(name: str, *, before: int | None, for_user: Visitor) -> SubjectPage:
    """Return the writes as one field manager, and its current objects."""
    written = _seen(for_user).filter(field_manager=name).order_by("-id").values_list("cluster", flat=True)
    slugs = sorted(set(written[:_RECENT]) - {""})
    if not slugs and not written.exists():
        raise NotVisibleError(f"nothing was written as {name}")
    about = present_owner(Owner(name, "", "", "", "")).about
    facts = [PlanFact(_("Meaning"), about)]
    facts += [
        PlanFact(
            _("Current fields"),
            _("on %(cluster)s") % {"cluster": slug},
            url=reverse("clusters:field-manager", args=[slug, name]),
        )
        for slug in slugs
    ]
    return _present(_("Field manager"), name, facts, {"manager": name}, before, for_user)
