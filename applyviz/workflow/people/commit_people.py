"""The people behind the commits of a plan: which accounts they are, and whom no account matches.

Rule: author, committer and pusher of every commit since the last approved plan are editors. Git says whatever its user
configured for the first two; the pusher is the account that the git host names in a verified delivery. All count, so a
person who writes another name into a commit is an editor as its pusher. A commit whose pusher no delivery names has an
unknown editor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from django.db.models import Q
from msgspec import Struct

from applyviz import moments
from applyviz.records.git_enums import EditorRole, HistoryGap, IdentityKind
from applyviz.records.models import BranchPush, CommitEditor, CommitIdentity, CommitRange, Plan
from applyviz.sources.git.model import GIT
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.blockers import CommitsUnknown, EditorUnmatched, PlanBlocker, PushersUnknown
from applyviz.workflow.people.humans import OF_HUMANS, name_mailbox
from applyviz.workflow.people.push_coverage import PushMove, find_unexplained, list_tips

_HIDDEN = re.compile(r"(?:[0-9]+[+-])?([a-z0-9][a-z0-9._-]*)@users\.noreply\.([a-z0-9.-]+)\Z")
_HIDDEN_PLAIN = re.compile(r"([a-z0-9][a-z0-9._-]*)@noreply\.([a-z0-9.-]+)\Z")
_MOST_PUSHES = 500


class GitPerson(Struct, frozen=True):
    """A person as git or its host names them; `email` and `login` in the form that identities have."""

    name: str
    email: str = ""
    login: str = ""


class Editor(Struct, frozen=True):
    """One person behind commits: their roles, the commits, and the accounts that match (none: unknown)."""

    person: GitPerson
    roles: tuple[str, ...]
    commits: tuple[str, ...]
    accounts: tuple[Person, ...]


class PlanEditors(Struct, frozen=True):
    """The editors of a plan by its commits.

    - `unknown_pushers`: commits whose pusher no delivery names. `gap`: why not all commits are known, "" if they are.
    """

    range: CommitRange
    editors: tuple[Editor, ...]
    unknown_pushers: tuple[str, ...]

    @property
    def gap(self) -> str:
        """Return why not all commits are known."""
        return self.range.gap

    @property
    def unmatched(self) -> tuple[Editor, ...]:
        """Return the editors whom no account matches."""
        return tuple(one for one in self.editors if not one.accounts)

    @property
    def accounts(self) -> tuple[Person, ...]:
        """Return the accounts of all editors, each once."""
        return tuple(dict.fromkeys(account for one in self.editors for account in one.accounts))


def write_login(host: str, name: str) -> str:
    """Return an account at a git host in the form that identities have; "" without a name."""
    return f"{host}/{name}".casefold() if host and name else ""


def show_name(text: str) -> str:
    """Return a name that git or its host sends, without characters that are invisible or reorder text."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def read_person(role: EditorRole, name: str, address: str, *, host: str) -> GitPerson | None:
    """Return who a commit names; None for the git host as a committer: it commits what a person merged on its pages.

    - An author with the address of the host hides who they are, and matches no account.
    - An address that a git host made to hide another one names the account there.
    """
    name, address = show_name(name), address.strip().casefold()
    if role is EditorRole.COMMITTER and address == f"noreply@{host}":
        return None
    hidden = _HIDDEN.match(address) or _HIDDEN_PLAIN.match(address)
    if hidden is not None:
        return GitPerson(name, login=write_login(hidden[2], hidden[1]))
    return GitPerson(name, email=name_mailbox(address))


def find_range(plan: Plan) -> CommitRange | None:
    """Return the commits whose people count for a plan; None for a plan that no followed branch led to."""
    return moments.read_once(("commits of plan", plan.pk), lambda: _read_range(plan))


def _read_ranges(plans: Collection[Plan]) -> None:
    """Read the commits of many plans with one statement, for what `find_range` is asked while the page is shown."""

    def read(missing: list[int]) -> dict[int, CommitRange | None]:
        found = {one.plan_id: one for one in CommitRange.objects.filter(plan__in=missing)}
        for pk, one in found.items():
            one.plan = by_id[pk]
        return {pk: found.get(pk) for pk in missing}

    by_id = {plan.pk: plan for plan in plans if _is_of_git(plan)}
    moments.read_together("commits of plan", by_id, read)


def _is_of_git(plan: Plan) -> bool:
    # Only commits of a repository are recorded, by plans that were made before their review followed it, too.
    return bool(plan.followed or plan.revision.provenance.get(GIT))


def _read_range(plan: Plan) -> CommitRange | None:
    found = CommitRange.objects.filter(plan=plan).first() if _is_of_git(plan) else None
    if found is not None:
        found.plan = plan
    return found


def is_forged(plan: Plan) -> bool:
    """Return whether the commits of a plan are missing, or were changed in the database."""
    found = find_range(plan)
    return bool(plan.followed) if found is None else bool(row_macs.find_fault(found))


def find_editors(plan: Plan) -> PlanEditors | None:
    """Return the editors of a plan by its commits; None for a plan that no followed branch led to."""
    return moments.read_once(("commit editors of plan", plan.pk), lambda: _read_editors([plan])[plan.pk])


def read_together(plans: Collection[Plan]) -> None:
    """Read the editors of many plans together, for what `find_editors` is asked while the page is shown."""
    by_id = {plan.pk: plan for plan in plans if _is_of_git(plan)}
    _read_ranges(by_id.values())
    moments.read_together("commit editors of plan", by_id, lambda pks: _read_editors([by_id[pk] for pk in pks]))


def make_editor(plan: Plan, role: EditorRole, person: GitPerson, commit: str) -> CommitEditor:
    """Return the row of a person behind a commit."""
    return CommitEditor(
        plan=plan,
        role=role,
        name=person.name[:200],
        email=person.email[:320],
        login=person.login[:400],
        commit=commit,
    )


def _read_editors(plans: Iterable[Plan]) -> dict[int, PlanEditors | None]:
    """Return the people whom the commits and the pushes of plans name; rows beside these only add people."""
    found = {plan.pk: find_range(plan) for plan in plans}
    ranges = [one for one in found.values() if one is not None]
    rows = {one.plan_id: [*_list_named(one), *list_pushers(one)] for one in ranges}
    for row in CommitEditor.objects.filter(plan__in=rows) if rows else ():
        rows[row.plan_id].append(row)
    accounts = _match([row for of_plan in rows.values() for row in of_plan])
    editors = {pk: tuple(_group(of_plan, accounts)) for pk, of_plan in rows.items()}
    read = {one.plan_id: PlanEditors(one, editors[one.plan_id], _find_unknown_pushers(one)) for one in ranges}
    return {pk: read.get(pk) for pk in found}


def _list_named(found: CommitRange) -> list[CommitEditor]:
    return [make_editor(found.plan, role, GitPerson(*person), commit) for role, *person, commit in found.people]


def _group(rows: Iterable[CommitEditor], accounts: Mapping[str, Sequence[Person]]) -> Iterator[Editor]:
    """Yield each person once, with all roles and commits."""
    groups: dict[GitPerson, list[CommitEditor]] = {}
    for row in rows:
        groups.setdefault(GitPerson(row.name, row.email, row.login), []).append(row)
    for person, own in groups.items():
        yield Editor(
            person,
            roles=tuple(dict.fromkeys(row.role for row in own)),
            commits=tuple(dict.fromkeys(row.commit for row in own)),
            accounts=tuple(dict.fromkeys((*accounts.get(person.email, ()), *accounts.get(person.login, ())))),
        )


def _match(rows: Iterable[CommitEditor]) -> Mapping[str, list[Person]]:
    """Return the accounts of each address and login: verified identities, ended ones too, and addresses of accounts.

    - A verification that this installation did not do does not count, so that its commits are of nobody known.
    """
    emails = {row.email for row in rows} - {""}
    logins = {row.login for row in rows} - {""}
    found: dict[str, list[Person]] = {}
    wanted = Q(kind=IdentityKind.EMAIL, value__in=emails) | Q(kind=IdentityKind.LOGIN, value__in=logins)
    owners = (f"person__{name}" for name in OF_HUMANS)
    verified = CommitIdentity.objects.filter(wanted, verified_at__isnull=False).select_related(*owners)
    for identity in row_macs.keep_genuine(verified):
        found.setdefault(identity.value, []).append(identity.person)
    for person in Person.objects.exclude(email="").select_related(*OF_HUMANS) if emails else ():
        mailbox = name_mailbox(person.email)
        if mailbox in emails:
            found.setdefault(mailbox, []).append(person)
    return found


def list_pushes(found: CommitRange) -> list[BranchPush]:
    """Return the newest pushes to the branch of a plan that a delivery named, oldest first."""
    pushes = BranchPush.objects.filter(location=found.location, branch=found.branch).order_by("-id")
    asked = ("pushes of commits", found.location, found.branch)
    return moments.read_once(asked, lambda: row_macs.keep_genuine(pushes[:_MOST_PUSHES]))[::-1]


def _list_moves(found: CommitRange) -> list[PushMove]:
    return [PushMove(push.before, push.after) for push in list_pushes(found)]


def list_pushers(found: CommitRange) -> list[CommitEditor]:
    """Return who pushed commits of a plan, also to tips that a force push removed, as rows that may be stored."""
    tips = list_tips(found.graph, found.commits, _list_moves(found)) if found.commits else frozenset()
    return [
        make_editor(found.plan, EditorRole.PUSHER, GitPerson(push.name, push.email, push.login), push.after)
        for push in list_pushes(found)
        if push.after in tips
    ]


def _find_unknown_pushers(found: CommitRange) -> tuple[str, ...]:
    """Return the commits whose pusher no delivery names."""
    return find_unexplained(found.graph, found.commits, _list_moves(found), chosen=found.first_commit, base=found.base)


def find_unknown(plan: Plan) -> tuple[PlanBlocker, ...]:
    """Return what is not known of the editors of a plan; () if all are accounts."""
    found = find_editors(plan)
    if found is None:
        return ()
    people = [
        EditorUnmatched(one.person.name or one.person.login, tuple(map(EditorRole, one.roles)), one.commits)
        for one in found.unmatched
    ]
    pushers = [PushersUnknown(found.unknown_pushers)] if found.unknown_pushers else []
    gaps = [CommitsUnknown(HistoryGap(found.gap))] if found.gap else []
    return (*people, *pushers, *gaps)
