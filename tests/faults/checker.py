"""The judge of a history: every rule that must hold whatever fails, as one pure function.

It shares no code with the product but the names of states: what was approved is compared with what servers saw,
byte for byte outside the named holes, and effect by effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.faults.comparing import effect_of, find_at, fits_template, holds, quiet
from tests.faults.history import Consent, Entry, Exchange, History, Item, Run, Violation

FINAL_RUNS = frozenset({"applied", "failed", "stale", "canceled"})
GOOD = frozenset({"applied", "deleted", "applied-live-differs", "unchanged"})
FINAL_OUTCOMES = GOOD | {"refused", "stale", "failed", "unknown", "not-attempted", "left-out"}
Rule = Callable[[History], Iterator[Violation]]


def _entries(run: Run) -> Iterator[tuple[Item, Entry]]:
    return ((item, entry) for item in run.items for entry in item.journal)


def find_owner(history: History, seen: Exchange) -> tuple[Run, Item, Entry] | None:
    """Which journal entry a write belongs to: the one that holds the very same request."""
    found = [
        (run, item, entry)
        for run in history.runs
        for item, entry in _entries(run)
        if entry.sent == seen.sent and entry.sent_at <= seen.received
    ]
    return max(found, key=lambda f: f[2].sent_at) if found else None


def _writes(history: History) -> list[Exchange]:
    return [e for e in history.exchanges if e.is_write]


def _name(seen: Exchange) -> str:
    return f"{seen.method} {seen.path}"


def check_approved(history: History) -> Iterator[Violation]:
    """P1: each write is a template of the plan of a run that was approved, for that cluster, and unspent before."""
    for seen in _writes(history):
        owner = find_owner(history, seen)
        if owner is None:
            yield Violation("approved exactly", _name(seen), "no journal entry holds this request")
            continue
        run, item, entry = owner
        templates = [t for t in item.requests if t["method"] != "GET"]
        if not any(fits_template(seen.sent, t) for t in templates):
            yield Violation("approved exactly", _name(seen), f"plan {run.plan} has no such template")
        if seen.server != run.target:
            yield Violation("approved target", _name(seen), f"sent to {seen.server}, approved for {run.target}")
        is_late = run.finished_at and seen.received > run.finished_at
        # Between the last look at the lease and the wire nobody can look again: such a write must meet a moved object.
        if is_late and (seen.is_effective or entry.sent_at > run.finished_at):
            yield Violation("finished runs write nothing", _name(seen), f"run {run.number} had ended")


def check_consent(history: History) -> Iterator[Violation]:
    """P1, P8: each run spent enough approvals of its digest, each given before, by nobody who took part, once."""
    spent_by: Counter[int] = Counter()
    plans = Counter(run.plan for run in history.runs)
    for run in history.runs:
        about = f"run {run.number}"
        spent = [c for c in run.consents if c.spent_at]
        spent_by.update(c.id for c in spent)
        if plans[run.plan] > 1:
            yield Violation("approval spent once", about, f"plan {run.plan} was run {plans[run.plan]} times")
        if run.is_emergency:
            continue
        people = {c.by for c in spent if c.digest == run.digest}
        if len(people) < run.needed:
            yield Violation("approved by quorum", about, f"{len(people)} of {run.needed} approvals were spent")
        for consent in spent:
            yield from _check_one(consent, run, about)
    for consent_id, times in spent_by.items():
        if times > 1:
            yield Violation("approval spent once", f"approval {consent_id}", f"{times} runs rest on it")


def _check_one(consent: Consent, run: Run, about: str) -> Iterator[Violation]:
    if consent.by in run.authors:
        yield Violation("four eyes", about, f"{consent.by} took part and approved")
    if consent.revoked_at or consent.created_at > run.created_at:
        yield Violation("approved by quorum", about, f"the approval of {consent.by} did not stand")
    if consent.expires_at and consent.expires_at < consent.spent_at:
        yield Violation("approved by quorum", about, f"the approval of {consent.by} had expired")
    if abs(consent.spent_at - run.created_at) > 60:
        yield Violation("approval spent once", about, f"the approval of {consent.by} was spent another time")


def check_effects(history: History) -> Iterator[Violation]:
    """P2: an effective write does to the stored object what was approved, and binds itself to the object it read."""
    for seen in _writes(history):
        owner = find_owner(history, seen)
        if owner is None or not seen.is_effective:
            continue
        _, item, entry = owner
        yield from _check_binding(seen)
        done = effect_of(seen.before, seen.after)
        if _moves_owners(item.requests[entry.part]):
            if done:
                yield Violation("approved effect", _name(seen), f"a move of ownership {_tell_effect(done)}")
            continue
        if sum(not _moves_owners(part) for part in _parts(item)) > 1:
            continue  # the effect of several requests that change values is seen as a whole only
        approved = effect_of(item.live, item.after)
        is_same = done == approved if item.is_exact else holds(quiet(seen.after), quiet(item.after))
        # What a finalizer holds is on its way out, as was approved.
        is_leaving = seen.method == "DELETE" and bool(find_at(seen.after, "metadata", "deletionTimestamp"))
        if not is_same and not is_leaving:
            odd = {path for path in {*approved, *done} if approved.get(path) != done.get(path)}
            yield Violation("approved effect", _name(seen), f"another write {_tell_effect(odd)}")
        if find_at(item.live, "metadata", "uid") != find_at(seen.before, "metadata", "uid"):
            yield Violation("approved effect", _name(seen), "another object than the reviewed one")


def _moves_owners(template: Mapping[str, Any]) -> bool:
    """Whether a request changes nothing but who owns what: a JSON patch of the owners, bound to a version."""
    body = template["body"]
    places = {op["path"] for op in body} if isinstance(body, list) else set()
    return "/metadata/managedFields" in places and places <= {"/metadata/managedFields", "/metadata/resourceVersion"}


def _tell_effect(paths: Iterable[tuple[str, ...]]) -> str:
    return f"acted at {', '.join(sorted(map(str, paths))[:4])}"


def _check_binding(seen: Exchange) -> Iterator[Violation]:
    where = ("preconditions",) if seen.method == "DELETE" else ("metadata",)
    if seen.before is None:
        if seen.method == "PATCH" and not find_at(seen.body, "metadata", "resourceVersion"):
            yield Violation("bound to what was read", _name(seen), "it would have met an object that appeared")
        return
    if isinstance(seen.body, list):  # a JSON patch binds itself by an operation of its own
        bound = [op.get("value") for op in seen.body if op.get("path") == "/metadata/resourceVersion"]
        if bound != [find_at(seen.before, "metadata", "resourceVersion")]:
            yield Violation("bound to what was read", _name(seen), "no operation names the version that it met")
        return
    for name in ("uid", "resourceVersion"):
        if find_at(seen.body, *where, name) != find_at(seen.before, "metadata", name):
            yield Violation("bound to what was read", _name(seen), f"{name} is not that of the object it met")


def check_once(history: History) -> Iterator[Violation]:
    """P3: at most one effective write per request of an object, and one journal entry per write that arrived."""
    # The parent of an ApplySet is written twice: each is an item of its own.
    effective: Counter[tuple[int, int, tuple[str, ...], int]] = Counter()
    arrived: Counter[tuple[int, str]] = Counter()
    for seen in _writes(history):
        owner = find_owner(history, seen)
        if owner is None:
            continue
        run, item, entry = owner
        effective[run.number, run.items.index(item), item.key, entry.part] += seen.is_effective
        # An overloaded server says that it did not take the request: the very same may come again.
        arrived[run.number, entry.digest] += seen.status != 429
    for (number, _item, key, part), times in effective.items():
        if times > 1:
            yield Violation("one effective write", f"run {number} {'/'.join(key)}", f"part {part} acted {times} times")
    for (number, digest), times in arrived.items():
        run = next(r for r in history.runs if r.number == number)
        written = sum(entry.digest == digest for _, entry in _entries(run))
        if times > written:
            yield Violation("one journal entry per write", f"run {number}", f"{times} arrived, {written} written down")


def check_order(history: History) -> Iterator[Violation]:
    """The steps of a plan are kept: no write of a later step before the last write of an earlier one.

    An addon tries an object again after its other objects, but before its deletions, its record and other addons.
    """
    for run in history.runs:
        furthest: Item | None = None
        for seen in _writes(history):
            owner = find_owner(history, seen)
            if owner is None or owner[0] is not run or not seen.is_effective:
                continue
            item = owner[1]
            if furthest is not None and item.step < furthest.step and not _is_again(item, furthest):
                yield Violation("order kept", f"run {run.number}", f"{_name(seen)} came after a later step")
            if furthest is None or item.step > furthest.step:
                furthest = item


def _is_again(item: Item, later: Item) -> bool:
    """Whether an addon tried an object again after another one of its objects."""
    return item.addon_attempt > 1 and item.addon == later.addon


def check_audited(history: History) -> Iterator[Violation]:
    """P11: when a write arrives, an audited intent of that very request is durable; none serves for two."""
    used: Counter[tuple[str, str]] = Counter()
    for seen in _writes(history):
        owner = find_owner(history, seen)
        if owner is None:
            continue
        digest = owner[2].digest
        used[seen.place, digest] += seen.status != 429
        if seen.intents is None:
            continue  # whoever gathers the history counts these, and lets no more than a few pass
        if seen.intents.count(digest) < max(1, used[seen.place, digest]):
            yield Violation("audit before write", _name(seen), "no durable intent of this request when it arrived")
    if history.chain:
        yield Violation("the chain is intact", "audit", history.chain)
    yield from _check_told(history)


def _check_told(history: History) -> Iterator[Violation]:
    """Each result is told once, for each attempt that came to one; an object may be two items of a run."""
    told: dict[Any, Counter[int]] = {}
    for one in history.audit:
        if one.action == "object.result":
            attempts = one.detail.get("attempt", 1), one.detail.get("addon attempt", 1)
            told.setdefault((one.run, one.key), Counter())[attempts] += 1
    for run in history.runs:
        named = Counter(item.key for item in run.items)
        for item in run.items:
            times = told.get((run.number, item.key), Counter())
            if item.outcome in FINAL_OUTCOMES - {"not-attempted"} and set(times.values()) != {named[item.key]}:
                about = f"run {run.number} {'/'.join(item.key)}"
                yield Violation("each result is told once", about, f"{dict(times)} entries by attempt")


def check_epochs(history: History) -> Iterator[Violation]:
    """P10: who lost a run writes nothing down any more, whatever the clock says."""
    for run in history.runs:
        claims = {
            t.detail["epoch"]: t.order for t in history.audit if t.run == run.number and t.action == "run.claimed"
        }
        orders: dict[str, list[int]] = {}
        for told in history.audit:
            if told.run == run.number and told.action == "object.intent":
                orders.setdefault(told.detail["request digest"], []).append(told.order)
        for item, entry in _entries(run):
            order = orders[entry.digest].pop(0) if orders.get(entry.digest) else 0
            later = [epoch for epoch, at in claims.items() if epoch > entry.epoch and at < order]
            if later:
                about = f"run {run.number} {'/'.join(item.key)}"
                yield Violation("epochs", about, f"epoch {entry.epoch} wrote after epoch {max(later)} had begun")


def check_results(history: History) -> Iterator[Violation]:
    """P4: each reported result is true, and none claims success without a look at what is there."""
    for run in history.runs:
        about = f"run {run.number}"
        for item in run.items:
            where = f"{about} {'/'.join(item.key)}"
            acted = [e for e in _writes(history) if e.is_effective and _belongs(history, e, run, item)]
            yield from _check_outcome(history, item, acted, where)
        if run.state in FINAL_RUNS and history.is_settled:
            yield from _check_end(run, about)


def _belongs(history: History, seen: Exchange, run: Run, item: Item) -> bool:
    owner = find_owner(history, seen)
    return owner is not None and owner[0] is run and owner[1] is item


def _check_outcome(history: History, item: Item, acted: list[Exchange], where: str) -> Iterator[Violation]:
    final = [t for t in item.requests if t["method"] != "GET"]
    is_done = bool(acted) and fits_template(acted[-1].sent, final[-1])
    match item.outcome:
        case "applied" | "deleted":
            yield from _check_verified(history, item, acted if is_done else [], where)
        case "applied-live-differs":
            if not is_done or not (item.differences or item.detail):
                yield Violation("results are true", where, "differs, but nothing was written or nothing is named")
        case "unchanged" | "not-attempted" | "left-out" | "waiting":
            if acted:
                yield Violation("results are true", where, f"{item.outcome}, but it was written")
        case "refused" | "stale" | "failed":
            if is_done:
                yield Violation("results are true", where, f"{item.outcome}, but the write took effect")
        case "unknown":
            if not item.detail:
                yield Violation("results are true", where, "unknown without a reason")


def _check_verified(history: History, item: Item, acted: list[Exchange], where: str) -> Iterator[Violation]:
    if not acted:
        if not _is_no_op(history, item):
            yield Violation("results are true", where, "verified, but nothing was written")
    elif not _was_seen(history, acted[-1]):
        yield Violation("results are true", where, "verified, but nobody looked at what came of it")
    elif not _is_as_promised(item, acted):
        yield Violation("results are true", where, "verified, but it is not what was promised")


def _is_as_promised(item: Item, acted: list[Exchange]) -> bool:
    """Whether all writes of an object together did what was promised.

    One of them changes values, others only owners; where the promise is about owners alone, none changes a value.
    """
    last = acted[-1]
    if last.method == "DELETE":
        return True
    if not item.is_exact:
        return holds(quiet(last.after), quiet(item.after))
    approved = effect_of(item.live, item.after)
    done = [effect_of(write.before, write.after) for write in acted]
    return [effect for effect in done if effect] == ([approved] if approved else [])


def _parts(item: Item) -> list[Mapping[str, Any]]:
    return [template for template in item.requests if template["method"] != "GET"]


def _was_seen(history: History, last: Exchange) -> bool:
    """Whether the worker had the whole answer of the write, or read the object after it."""
    return any(
        seen.is_delivered and (seen is last or (seen.received >= last.received and seen.method == "GET"))
        for seen in history.exchanges
        if seen.place == last.place
    )


def _is_no_op(history: History, item: Item) -> bool:
    """Whether the server took a request of this object that changed nothing (it was so already)."""
    return any(
        seen.place == item.path and 200 <= seen.status < 300 and not seen.is_effective for seen in _writes(history)
    ) or (
        item.operation in ("prune", "delete")
        and any(s.path == item.path and s.status == 404 for s in history.exchanges)
    )


def _check_end(run: Run, about: str) -> Iterator[Violation]:
    counts = Counter(item.outcome for item in run.items)
    if dict(counts) != dict(run.summary):
        yield Violation("results are true", about, f"the summary says {dict(run.summary)}, the objects {dict(counts)}")
    if (run.state == "applied") != (set(counts) <= GOOD):
        yield Violation("results are true", about, f"{run.state} with {dict(counts)}")


def check_validated_first(history: History) -> Iterator[Violation]:
    """P5: before the first write of a run, every object that it changes was asked for since the run was claimed."""
    for run in history.runs:
        own = [e for e in _writes(history) if (o := find_owner(history, e)) and o[0] is run]
        if not own:
            continue
        first = min(e.received for e in own)
        for item in run.items:
            if item.operation in ("unchanged",) or not item.path:
                continue
            asked = [e for e in history.exchanges if _asks(e, item) and run.created_at <= e.received <= first]
            if not asked:
                yield Violation(
                    "validated first", f"run {run.number} {'/'.join(item.key)}", "written before all was read"
                )


def _asks(seen: Exchange, item: Item) -> bool:
    if seen.is_write or not 200 <= (seen.status or 0) < 500:
        return False
    return seen.place == item.path or (item.operation in ("prune", "delete") and item.path.startswith(seen.path))


def check_settled(history: History) -> Iterator[Violation]:
    """P3: nothing hangs: once faults end, every run and every object of it comes to an end."""
    if not history.is_settled:
        return
    for run in history.runs:
        if run.state not in FINAL_RUNS:
            yield Violation("everything ends", f"run {run.number}", f"it is still {run.state}")
            continue
        for item in run.items:
            if item.outcome not in FINAL_OUTCOMES:
                about = f"run {run.number} {'/'.join(item.key)}"
                yield Violation("everything ends", about, f"the run is {run.state}, the object {item.outcome}")


RULES: tuple[Rule, ...] = (
    check_approved,
    check_consent,
    check_effects,
    check_once,
    check_order,
    check_audited,
    check_epochs,
    check_results,
    check_validated_first,
    check_settled,
)


def find_violations(history: History) -> tuple[Violation, ...]:
    """Every broken rule of a history; none when all held."""
    return tuple(violation for rule in RULES for violation in rule(history))
