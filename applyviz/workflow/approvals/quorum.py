"""Quorum: which approvals the policy of a plan requires, which count, and how many are missing.

An approval counts while it is not revoked, spent or expired, its author still has the role, and the author was not
involved in the plan under any account. It belongs to a digest: a re-plan with the same digest keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Prefetch, Q, QuerySet, prefetch_related_objects
from msgspec import Struct

from applyviz import clock, moments
from applyviz.records.enums import Role
from applyviz.records.models import Approval, Grant, Plan, Resolution
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow import policies
from applyviz.workflow.audit import approval_macs
from applyviz.workflow.foundation import access, plan_rows, row_macs
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import ApprovalsMissing, AuthorsForged
from applyviz.workflow.foundation.scopes import holds_at
from applyviz.workflow.people import commit_people
from applyviz.workflow.people import humans as people
from applyviz.workflow.policies import Demand, PolicyRules


class Need(Struct, frozen=True):
    """One demand of the policy, the approvals that meet it, and how many are missing."""

    demand: Demand
    given_by: tuple[str, ...]

    @property
    def missing(self) -> int:
        """Return how many approvals this demand still lacks."""
        return max(0, self.demand.approvals - len(self.given_by))


class Quorum(Struct, frozen=True):
    """The demands of a plan's policy and the approvals that count."""

    policy: PolicyRules
    approvals: tuple[Approval, ...]
    needs: tuple[Need, ...]

    @property
    def missing(self) -> int:
        """Return the fewest approvals that can still complete the quorum."""
        return max((need.missing for need in self.needs), default=0)

    @property
    def needed(self) -> int:
        """Return the fewest approvals that meet every demand."""
        return max((need.demand.approvals for need in self.needs), default=0)

    @property
    def lacking(self) -> tuple[ApprovalsMissing, ...]:
        """Return the demands that are not met."""
        return tuple(ApprovalsMissing(need.missing, need.demand.team) for need in self.needs if need.missing)


def find_involved(plan: Plan) -> frozenset[int]:
    """Return the accounts that wrote, edited, committed, pushed, resolved or requested a plan."""
    return frozenset(person.pk for person in _list_involved(plan))


def _list_involved(plan: Plan) -> tuple[Person, ...]:
    return moments.read_once(("involved in plan", plan.pk), lambda: _read_involved(plan))


def _select_involved(review: int) -> QuerySet[Person]:
    requesters = Plan.objects.filter(review=review).order_by().values("requested_by_id")
    deciders = Resolution.objects.filter(review=review).order_by().values("by_id")
    chosen = Q(pk__in=requesters) | Q(pk__in=deciders)
    return Person.objects.filter(chosen).select_related(*people.OF_HUMANS)


_INVOLVED = WrittenQuery(_select_involved)


def _read_involved(plan: Plan) -> tuple[Person, ...]:
    found = _INVOLVED.ask(plan.review_id)
    # The list of the plan has a MAC; the rows beside it only add people. Most often they are the same.
    stated = _list_stated(plan) - {person.pk for person in found}
    if stated:
        found += Person.objects.filter(pk__in=stated).select_related(*people.OF_HUMANS)
    return _add_editors(plan, found)


def _list_stated(plan: Plan) -> set[int]:
    return {*plan.authors, plan.review.author_id, plan.revision.created_by_id}


def _add_editors(plan: Plan, found: Iterable[Person]) -> tuple[Person, ...]:
    editors = commit_people.find_editors(plan)
    named = () if editors is None else editors.accounts
    return tuple(dict.fromkeys((*found, *named)))


def read_involved(plans: Iterable[Plan]) -> None:
    """Read with two statements who was involved in many plans, for what the page asks about each of them."""
    by_id = {plan.pk: plan for plan in plans}

    def read(missing: list[int]) -> dict[int, tuple[Person, ...]]:
        chosen = [by_id[pk] for pk in missing]
        reviews = {plan.review_id for plan in chosen}
        requesters = Plan.objects.filter(review__in=reviews).order_by().values_list("review_id", "requested_by_id")
        deciders = Resolution.objects.filter(review__in=reviews).order_by().values_list("review_id", "by_id")
        acting: dict[int, set[int]] = {review: set() for review in reviews}
        for review, person in requesters.union(deciders):
            acting[review].add(person)
        of_plan = {plan.pk: acting[plan.review_id] | _list_stated(plan) for plan in chosen}
        wanted = {pk for ids in of_plan.values() for pk in ids}
        accounts = Person.objects.select_related(*people.OF_HUMANS).in_bulk(wanted)
        named = {pk: [accounts[one] for one in sorted(ids) if one in accounts] for pk, ids in of_plan.items()}
        return {plan.pk: _add_editors(plan, named[plan.pk]) for plan in chosen}

    moments.read_together("involved in plan", by_id, read)


def find_forged_authors(plan: Plan) -> tuple[AuthorsForged, ...]:
    """Return that the authors of a plan are not those that this installation stored; empty when they are."""
    return (AuthorsForged(),) if row_macs.find_fault(plan) or commit_people.is_forged(plan) else ()


def is_involved(plan: Plan, person: Person) -> bool:
    """Return whether the person behind an account was involved in a plan, under any linked account."""
    involved = find_involved(plan)
    if person.pk in involved:
        return True
    humans = people.name_humans([person, *_list_involved(plan)])
    return humans[person.pk] in {humans[pk] for pk in involved}


def is_commit_editor(plan: Plan, person: Person) -> bool:
    """Return whether the person behind an account wrote, committed or pushed commits of a plan."""
    editors = commit_people.find_editors(plan)
    if editors is None:
        return False
    humans = people.name_humans([person, *editors.accounts])
    return humans[person.pk] in {humans[account.pk] for account in editors.accounts}


def list_given(plan: Plan) -> list[Approval]:
    """Return the genuine approvals of a plan's digest in its review that are not revoked or spent, expired ones too."""
    if not plan.digest:
        return []
    return list(moments.read_once(("approvals of plan", plan.pk), lambda: _read_given(plan)))


def _select_given(reviews: Q) -> QuerySet[Approval]:
    rows = Approval.objects.filter(reviews, revoked_at=None, spent_at=None)
    return approval_macs.drop_ended(rows).select_related(*(f"by__{name}" for name in people.OF_HUMANS), "plan", "entry")


_GIVEN = WrittenQuery(lambda review: _select_given(Q(plan__review=review)))


def _read_given(plan: Plan) -> tuple[Approval, ...]:
    rows = (row for row in _GIVEN.ask(plan.review_id) if row.digest == plan.digest)
    return tuple(approval_macs.keep_genuine(rows))


def _read_given_together(plans: Iterable[Plan]) -> dict[int, tuple[Approval, ...]]:
    """Return the approvals of many plans as `list_given` does those of one, and keep them while a page is shown."""
    by_digest: dict[tuple[int, str], list[Approval]] = {}
    plans = list(plans)
    for approval in approval_macs.keep_genuine(_select_given(Q(plan__review__in={plan.review_id for plan in plans}))):
        by_digest.setdefault((approval.plan.review_id, approval.digest), []).append(approval)
    found = {plan.pk: tuple(by_digest.get((plan.review_id, plan.digest), ())) for plan in plans}
    moments.read_together("approvals of plan", found, lambda missing: {pk: found[pk] for pk in missing})
    return found


def list_valid_approvals(plan: Plan) -> list[Approval]:
    """Return the approvals that can be spent on a plan now, one per person."""
    now = clock.now()
    given = [a for a in list_given(plan) if a.expires_at is None or a.expires_at > now]
    if not given:
        return []
    scopes = policies.list_scopes(plan)
    return keep_distinct(plan, [a for a in given if access.can(a.by, Action.APPROVE, scopes)])


def keep_distinct(plan: Plan, given: Iterable[Approval]) -> list[Approval]:
    """Return one approval per person who was not involved in the plan, by the account links known now."""
    given, involved = list(given), _list_involved(plan)
    humans = people.name_humans([*(a.by for a in given), *involved])
    used = {humans[person.pk] for person in involved}
    kept = []
    for approval in given:
        if humans[approval.by_id] not in used:
            used.add(humans[approval.by_id])
            kept.append(approval)
    return kept


def keep_counted(policy: PolicyRules, given: Iterable[Approval]) -> list[Approval]:
    """Return the approvals that a policy counts: it may exclude those that rest on the sole administrator."""
    return [approval for approval in given if not (policy.refuses_sole and approval.is_sole)]


def list_dropped(plan: Plan) -> list[Approval]:
    """Return approvals of earlier plans of the review that a plan with a different effect does not keep."""
    rows = Approval.objects.filter(Q(plan__number__lt=plan.number), plan__review=plan.review_id, revoked_at=None)
    return list(rows.filter(spent_at=None).exclude(digest=plan.digest).select_related("by", "plan"))


def match_demands(demands: Iterable[Demand], valid: Iterable[Approval]) -> tuple[Need, ...]:
    """Match approvals with demands; one approval may meet several."""
    valid, demands = list(valid), list(demands)
    teams = people.list_teams(a.by for a in valid) if any(d.team for d in demands) else {}
    return tuple(Need(d, tuple(a.by_name for a in valid if not d.team or d.team in teams[a.by_id])) for d in demands)


def count_quorum(plan: Plan, policy: PolicyRules | None = None) -> Quorum:
    """Return the demands of a plan's policy and the approvals that meet them."""
    policy = policy or policies.find_policy(plan)
    valid = keep_counted(policy, list_valid_approvals(plan))
    return Quorum(policy, tuple(valid), match_demands(policies.find_demands(plan, policy), valid))


def would_count(found: Quorum, person: Person) -> bool:
    """Return whether another approval, by this person, would meet a demand that is not met yet."""
    lacking = [need.demand.team for need in found.needs if need.missing]
    if not lacking or "" in lacking:
        return True
    return not people.list_teams([person])[person.pk].isdisjoint(lacking)


def find_agreed(plans: Iterable[Plan]) -> frozenset[int]:
    """Return the ids of the fully approved plans among many; reads details only for plans that can be approved."""
    plans = [plan for plan in plans if plan.digest]
    given = _read_given_together(plans)
    asks_nothing = any(row.rules.get("approvals") == 0 for row in policies.list_in_force())
    likely = [plan for plan in plans if asks_nothing or given[plan.pk]]
    plan_rows.read_together(likely)
    read_involved(plans if likely else ())
    return frozenset(p.pk for p in likely if not count_quorum(p).missing)


def _select_approvers() -> QuerySet[Grant]:
    rows = Grant.objects.filter(role=Role.APPROVER, ended_at=None)
    return rows.select_related(*(f"person__{name}" for name in people.OF_HUMANS), "team")


_APPROVERS = WrittenQuery(_select_approvers)


def _read_approvers() -> list[Grant]:
    rows = _APPROVERS.ask()
    prefetch_related_objects(rows, Prefetch("team__members__person", Person.objects.select_related(*people.OF_HUMANS)))
    return rows


def list_candidates(plan: Plan) -> list[Person]:
    """Return who may still approve a plan: holds the role there, is not involved, and is not counted yet."""
    scopes = policies.list_scopes(plan)
    rows = moments.read_on_page("grants of approvers", _read_approvers)
    found: dict[int, Person] = {}
    grants_of: dict[int, list[Grant]] = {}
    for grant in rows:
        members = [m.person for m in grant.team.members.all() if m.ended_at is None] if grant.team else [grant.person]
        for person in members:
            if person is not None and person.is_active:
                found[person.pk] = person
                grants_of.setdefault(person.pk, []).append(grant)
    spent = [*_list_involved(plan), *(approval.by for approval in list_valid_approvals(plan))]
    humans = people.name_humans([*found.values(), *spent])
    used = {humans[one.pk] for one in spent}
    may = (p for pk, p in found.items() if all(any(holds_at(g, scope) for g in grants_of[pk]) for scope in scopes))
    return sorted((p for p in may if humans[p.pk] not in used), key=lambda one: one.get_username())
