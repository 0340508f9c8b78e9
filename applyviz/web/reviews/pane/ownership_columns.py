"""Field managers and the fields of one object: what each owns before and after, gains, loses and shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.objects.owners import Owner, OwnerIdentity
from applyviz.engine.objects.paths import FieldPath
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.web.reviews.pane.fields import render_short

NAMED = 300


class OwnershipColumn(Struct, frozen=True):
    """One field owner."""

    owner: OwnerChip
    before: int
    after: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    shared: tuple[str, ...]
    time: str
    url: str = ""
    widest: int = 1
    kept_paths: tuple[str, ...] = ()

    @property
    def more_kept(self) -> int:
        """Return how many kept fields are not named."""
        return self.kept - len(self.kept_paths)

    @property
    def kept_share(self) -> int:
        """Return the width of its kept fields, in percent of the widest lane; gained and lost fields follow them."""
        return round(100 * self.kept / self.widest)

    @property
    def gained_share(self) -> int:
        """Return the width of its gained fields."""
        return round(100 * len(self.gained) / self.widest)

    @property
    def lost_at(self) -> int:
        """Return the position of its lost fields."""
        return self.kept_share + self.gained_share

    @property
    def lost_share(self) -> int:
        """Return the width of its lost fields."""
        return round(100 * len(self.lost) / self.widest)

    @property
    def kept(self) -> int:
        """Return how many fields it owns before and after."""
        return self.after - len(self.gained)


@dataclass(slots=True)
class _Holding:
    owner: Owner
    before: dict[FieldPath, None] = field(default_factory=dict)
    after: dict[FieldPath, None] = field(default_factory=dict)
    shared: dict[FieldPath, None] = field(default_factory=dict)


def _gather(reasons: Iterable[FieldReason]) -> dict[OwnerIdentity, _Holding]:
    holdings: dict[OwnerIdentity, _Holding] = {}
    for reason in reasons:
        for owner in reason.owners_before:
            holdings.setdefault(owner.identity, _Holding(owner)).before[reason.path] = None
        for owner in reason.owners_after:
            holding = holdings.setdefault(owner.identity, _Holding(owner))
            holding.after[reason.path] = None
            if len(reason.owners_after) > 1:
                holding.shared[reason.path] = None
    return holdings


def present_ownership_columns(
    reasons: Iterable[FieldReason], *, you: str, url_of: Callable[[str], str] | None = None
) -> tuple[OwnershipColumn, ...]:
    """Return all lanes, your own first; `url_of` returns the page with all fields of a field manager."""
    holdings = sorted(
        _gather(reasons).values(), key=lambda h: (h.owner.manager != you, h.owner.manager, h.owner.operation)
    )
    widest = max((len(h.before | h.after) for h in holdings), default=1)
    return tuple(
        OwnershipColumn(
            owner=present_owner(h.owner, you=you),
            before=len(h.before),
            after=len(h.after),
            gained=tuple(render_short(p) for p in h.after if p not in h.before),
            lost=tuple(render_short(p) for p in h.before if p not in h.after),
            shared=tuple(render_short(p) for p in h.shared),
            time=h.owner.time,
            url=url_of(h.owner.manager) if url_of else "",
            widest=max(1, widest),
            kept_paths=tuple(map(render_short, islice((p for p in h.after if p in h.before), NAMED))),
        )
        for h in holdings
    )
