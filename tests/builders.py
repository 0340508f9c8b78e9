"""People, clusters, bundles and reviews for tests of the back end: Alice writes, Bob approves, Charlie is outside."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.utils import timezone

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import ClusterKind, PlanState, Role
from applyviz.records.models import Cluster, ObjectChange, Plan, Review, SourceRevision, Target
from applyviz.records.sealing import Sealed


def make_person(name: str, *roles: Role) -> User:
    """Somebody with these roles; without any, an outsider."""
    person = User.objects.create_user(name, password=f"{name}-secret")
    for role in roles:
        person.groups.add(Group.objects.get_or_create(name=role.value)[0])
    return person


def make_cluster_row(slug: str = "box", **values: object) -> Cluster:
    """A cluster that only exists as a row."""
    defaults = {"name": slug, "kind": ClusterKind.SANDBOX, "uid": f"uid-of-{slug}", "created_at": timezone.now()}
    return Cluster.objects.create(slug=slug, **{**defaults, **values})


def make_plan_row(
    author: User, *, requester: User | None = None, state: str = PlanState.COMPLETE, changes: int = 1
) -> Plan:
    """A finished plan with some changes, without a calculation behind it."""
    now = timezone.now()
    number = Review.objects.count() + 1
    review = Review.objects.create(number=number, title="Upgrade", author=author, created_at=now, updated_at=now)
    cluster = Cluster.objects.filter(slug="box").first() or make_cluster_row()
    plan = Plan.objects.create(
        review=review,
        target=Target.objects.create(review=review, cluster=cluster),
        revision=SourceRevision.objects.create(digest="d" * 64, created_at=now, created_by=author),
        number=1,
        options={},
        requested_by=requester or author,
        tag_key=Sealed.of_bytes(b"k" * 32),
        created_at=now,
    )
    for position in range(changes):
        ObjectChange.objects.create(
            plan=plan,
            position=position,
            version="v1",
            kind="ConfigMap",
            namespace="default",
            name=f"settings-{position}",
            operation="update",
            certainty="server-confirmed",
            has_effect=True,
            effect="e" * 64,
            document={},
            sealed=Sealed.of_json({}),
        )
    Plan.objects.filter(pk=plan.pk).update(state=state, digest="a" * 64, cluster_uid=cluster.uid)
    plan.refresh_from_db()
    return plan


def server_side(**values: object) -> ApplyOptions:
    """The product's own options."""
    return ApplyOptions(**{"namespace": "shop", **values})
