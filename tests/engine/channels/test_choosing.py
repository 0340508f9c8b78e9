"""Each addon is installed, updated or skipped by the rules of kOps, and the reason is said."""

import hashlib
import json

import pytest

from applyviz.engine.channels.choosing import choose, find_faults, hash_manifest, read_record
from applyviz.engine.channels.model import Addon, AddonAction, AddonFault, AddonReason, AddonRecord, ChannelPlan
from applyviz.engine.channels.sentences import list_duties, list_notes, render_choice
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.structs import replace

WEB = Addon("web", "web.yaml", "web.yaml", id="k8s-1.30", manifest_hash="a" * 64)


def record(**changes):
    value = {"id": WEB.id, "manifestHash": WEB.manifest_hash, "systemGeneration": 1, **changes}
    return {"kube-system": {"addons.k8s.io/web": json.dumps(value)}}


def choose_all(*addons, annotations=None, faults=None, **more):
    return choose(addons, kubernetes="v1.36.3", annotations=annotations or {}, faults=faults or {}, **more)


def say(plan):
    return plan.action.value, plan.reason.value, render_choice(plan, "v1.36.3")


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, ("install", "not-installed", "Not installed: namespace kube-system has no annotation addons.k8s.io/web.")),
        (
            {"kube-system": {"addons.k8s.io/web": "{"}},
            (
                "install",
                "unreadable-record",
                "The annotation addons.k8s.io/web of namespace kube-system does not describe an addon.",
            ),
        ),
        (record(), ("skip", "same", "Installed: same id and manifest.")),
        (record(version="99.0.0", channel="other"), ("skip", "same", "Installed: same id and manifest.")),
        (record(id=None), ("update", "other-id", "Different id: installed none, channel k8s-1.30.")),
        (
            record(manifestHash="b" * 64),
            ("update", "other-manifest", "Different manifest: installed bbbbbbbbbbbb, channel aaaaaaaaaaaa."),
        ),
        (
            record(systemGeneration=None),
            ("update", "older-generation", "Installed by a kOps version that did not prune: it is applied again."),
        ),
        (record(systemGeneration=2), ("skip", "newer-generation", "Installed by a newer version of kOps.")),
    ],
)
def test_choice_follows_from_the_record(annotations, expected):
    (plan,) = choose_all(WEB, annotations=annotations)

    assert say(plan) == expected


@pytest.mark.parametrize(
    "text", ["5", "[]", '{"id": 5}', '{"systemGeneration": true}', '{"manifestHash": []}', "[" * 200_000]
)
def test_annotation_of_another_form_is_no_record(text):
    assert read_record(text) is None


def test_record_of_an_older_kops_is_read():
    assert read_record('{"version":"9.99.0","channel":"s3","manifestHash":"x"}') == AddonRecord(
        "", "x", 0, "9.99.0", "s3"
    )


def test_entry_for_another_kubernetes_is_skipped_and_the_last_fitting_one_counts():
    old = Addon("web", "old.yaml", "old.yaml", id="k8s-1.20", kubernetes_version="<1.30.0")
    at = SourcePosition("c.yaml", 9)
    odd = Addon("web", "odd.yaml", "odd.yaml", id="odd", kubernetes_version="soon")
    twin = Addon("web", "twin.yaml", "twin.yaml", id=WEB.id, manifest_hash=WEB.manifest_hash)
    new = Addon("web", "new.yaml", "new.yaml", id="k8s-1.36", kubernetes_version=">=1.36.0", position=at)

    found = choose_all(old, odd, WEB, twin, new)
    twins = choose_all(WEB, twin)

    assert [say(plan)[1:] for plan in found[:4]] == [
        ("other-kubernetes", "For Kubernetes <1.30.0; the server runs v1.36.3."),
        ("unreadable-range", "The range soon of Kubernetes versions is invalid: kOps ignores the entry."),
        (
            "other-entry",
            "Two entries of this name are for Kubernetes v1.36.3: the later one counts, c.yaml:9. "
            "This one has hash aaaaaaaaaaaa, that one none.",
        ),
        (
            "other-entry",
            "Two entries of this name are for Kubernetes v1.36.3: the later one counts, c.yaml:9. "
            "This one has hash aaaaaaaaaaaa, that one none.",
        ),
    ]
    assert say(twins[1])[1] == "same-entry"
    assert say(choose_all(replace(new, id="before"), new)[0])[2].endswith("This one has id before, that one k8s-1.36.")
    assert (found[4].action, found[4].addon) == (AddonAction.INSTALL, new)
    assert [plan.is_applied for plan in twins] == [True, False]


def test_manifest_that_is_missing_or_another_one_is_not_planned():
    data = b"kind: A\n"
    good = Addon("good", "g", "g", manifest_hash=hash_manifest(data).upper())
    whole = Addon("whole", "g", "g", manifest_hash=hashlib.sha256(data).hexdigest())
    free = Addon("free", "g", "g")

    assert find_faults((good, whole, free), {"g": data}) == {}
    assert find_faults((WEB,), {}) == {WEB: AddonFault(AddonReason.NO_MANIFEST)}
    wrong_hash = find_faults((WEB,), {"web.yaml": data})
    assert wrong_hash == {WEB: AddonFault(AddonReason.WRONG_HASH, hash_manifest(data))}
    (wrong,) = choose_all(WEB, faults=wrong_hash)
    (missing,) = choose_all(WEB, faults=find_faults((WEB,), {}))
    (skipped,) = choose_all(WEB, annotations=record(), faults=find_faults((WEB,), {}))
    assert say(wrong) == (
        "not-planned",
        "wrong-hash",
        f"web.yaml is not the manifest of the channel: its SHA-256 is {hash_manifest(data)}, the channel says "
        f"{'a' * 64}.",
    )
    assert say(missing) == ("not-planned", "no-manifest", "Its manifest web.yaml is missing.")
    assert skipped.action is AddonAction.SKIP


def test_duties_of_kops_are_named_where_they_are_due():
    addon = Addon("web", needs_rolling_update="workers", needs_pki=True)
    (install,) = choose_all(addon)
    (update,) = choose_all(addon, annotations=record())
    (skipped,) = choose_all(replace(WEB, needs_pki=True), annotations=record())
    many = replace(update, nodes=("n1", "n2"), more_nodes=3)

    assert "kOps marks n1, n2 and 3 more with the annotation" in next(list_duties(many))
    pki = "Needs a CA: applyviz does not create Secret web-ca and Issuer web in kube-system."
    assert list(list_duties(install)) == [pki]
    assert list(list_duties(update)) == [
        "Needs a rolling update of the worker nodes: kOps marks them with the annotation kops.k8s.io/needs-update, "
        "applyviz does not.",
        pki,
    ]
    assert list(list_duties(skipped)) == []


def test_record_is_written_as_kops_writes_it():
    bare = Addon("bare")
    plan = ChannelPlan("c.yaml", "https://example.com/c.yaml", "v1.36.3", choose_all(WEB, bare))

    assert plan.write_record(WEB) == (
        '{"channel":"https://example.com/c.yaml","id":"k8s-1.30","manifestHash":"'
        + "a" * 64
        + '","systemGeneration":1}'
    )
    assert json.loads(plan.write_record(replace(WEB, version="1.6.0")))["version"] == "1.6.0"
    assert plan.write_record(bare) == '{"channel":"https://example.com/c.yaml","systemGeneration":1}'
    assert [addon.name for addon in plan.applied] == ["web", "bare"]
    assert (plan.find("bare"), plan.find("other")) == (bare, None)


def versioned(version, installed, **changes):
    """The choice for an entry with a version over a record with another one."""
    (plan,) = choose_all(replace(WEB, version=version), annotations=record(version=installed, **changes))
    return say(plan)


@pytest.mark.parametrize(
    ("version", "installed", "changes", "expected"),
    [
        ("1.6.0", "1.5.0", {}, ("update", "greater-version", "Greater version: installed 1.5.0, channel 1.6.0.")),
        ("1.10.0", "v1.9", {}, ("update", "greater-version", "Greater version: installed v1.9, channel 1.10.0.")),
        (
            "1.5.0",
            "1.6.0",
            {"id": "other", "manifestHash": "b" * 64},
            (
                "skip",
                "lower-version",
                "Lower version: installed 1.6.0, channel 1.5.0. It is never installed over a greater one.",
            ),
        ),
        (
            "1.6.0-beta.1",
            "1.6.0",
            {},
            (
                "skip",
                "lower-version",
                "Lower version: installed 1.6.0, channel 1.6.0-beta.1. It is never installed over a greater one.",
            ),
        ),
        (
            "1.6.0",
            "1.6.0",
            {"id": "pre-k8s-16"},
            ("update", "other-id", "Different id: installed pre-k8s-16, channel k8s-1.30."),
        ),
        (
            "1.6.0",
            "1.6.0",
            {"manifestHash": "b" * 64},
            ("update", "other-manifest", "Different manifest: installed bbbbbbbbbbbb, channel aaaaaaaaaaaa."),
        ),
        ("1.6.0", "1.6.0", {}, ("skip", "same", "Installed: same id and manifest.")),
        (
            "1.6.0",
            "soon",
            {},
            (
                "update",
                "unreadable-version",
                "The installed version soon is not a semantic version: the addon is applied again.",
            ),
        ),
        # The channels of kOps 1.22 and later: 9.99.0 for all addons, later none, so only the hash decides.
        ("", "9.99.0", {}, ("skip", "same", "Installed: same id and manifest.")),
        (
            "",
            "9.99.0",
            {"manifestHash": "b" * 64},
            ("update", "other-manifest", "Different manifest: installed bbbbbbbbbbbb, channel aaaaaaaaaaaa."),
        ),
        ("1.0.0", None, {}, ("skip", "same", "Installed: same id and manifest.")),
    ],
)
def test_versions_decide_where_both_name_one(version, installed, changes, expected):
    assert versioned(version, installed, **changes) == expected


def test_entry_with_the_greatest_version_counts():
    newer = replace(WEB, version="1.6.0", position=SourcePosition("c.yaml", 5))
    older = replace(WEB, version="1.5.0", id="old")

    for entries in ((newer, older), (older, newer)):
        found = {plan.addon.version: say(plan) for plan in choose_all(*entries)}
        assert found["1.6.0"][0] == "install"
        assert found["1.5.0"] == (
            "skip",
            "lower-entry",
            "Version 1.5.0 is lower than 1.6.0 of c.yaml:5, which counts.",
        )


def test_second_entry_with_the_same_content_says_that_the_first_counts():
    first = replace(WEB, position=SourcePosition("c.yaml", 5))

    assert say(choose_all(first, replace(WEB, file="again.yaml"))[1]) == (
        "skip",
        "same-entry",
        "It has the id and the hash of c.yaml:5, which counts.",
    )


def test_installed_addon_that_left_the_channel_is_listed_with_the_way_to_remove_it():
    installed = {"addons.k8s.io/gone": '{"id":"a","channel":"s3://bucket/c.yaml"}', "addons.k8s.io/odd": "x", "a": "{}"}

    web, gone = choose_all(WEB, annotations={"kube-system": {**record()["kube-system"], **installed}})

    assert web.reason is AddonReason.SAME
    assert (gone.addon.name, gone.is_applied) == ("gone", False)
    assert say(gone) == (
        "skip",
        "not-in-channel",
        "Installed from s3://bucket/c.yaml, but not in this channel: its objects and its annotation stay. "
        "To remove it, delete its objects, then the annotation addons.k8s.io/gone of namespace kube-system.",
    )


def test_missing_namespace_is_named():
    (plan,) = choose_all(WEB, missing=["kube-system"])

    assert say(plan) == ("install", "no-namespace", "Not installed: the cluster has no namespace kube-system.")


def test_kind_that_is_not_served_is_a_note():
    (plan,) = choose_all(WEB)

    notes = list_notes(replace(plan, unserved=("Thing.example.com",)))
    assert list(notes) == ["The cluster does not serve kind Thing.example.com, so nothing of it is pruned."]


def test_marked_nodes_are_told_apart_from_nodes_that_are_not_there():
    (update,) = choose_all(replace(WEB, needs_rolling_update="workers"), annotations=record(id="old"))
    note = "kops.k8s.io/needs-update"

    (none,) = list_duties(replace(update, nodes=()))
    (marked,) = list_duties(replace(update, nodes=("n1",), marked=("n1",)))
    (left,) = list_duties(replace(update, nodes=("n1",)))

    assert none.endswith("kOps marks nodes with the label node-role.kubernetes.io/node, and no node has it.")
    assert marked.endswith(f"the plan marks n1 with the annotation {note}, as kOps does.")
    assert left.endswith(f"kOps marks n1 with the annotation {note}, applyviz does not.")
