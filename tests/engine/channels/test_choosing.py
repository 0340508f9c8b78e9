"""Each addon is installed, updated or skipped by the rules of kOps, and the reason is said."""

import hashlib
import json
from dataclasses import replace

import pytest

from applyviz.engine.channels.choosing import choose, find_faults, hash_manifest, read_record
from applyviz.engine.channels.model import Addon, AddonAction, AddonReason, AddonRecord, ChannelPlan
from applyviz.engine.channels.sentences import list_duties, render_choice

WEB = Addon("web", "web.yaml", "web.yaml", id="k8s-1.30", manifest_hash="a" * 64)


def record(**changes):
    value = {"id": WEB.id, "manifestHash": WEB.manifest_hash, "systemGeneration": 1, **changes}
    return {"kube-system": {"addons.k8s.io/web": json.dumps(value)}}


def choose_all(*addons, annotations=None, faults=None):
    return choose(addons, kubernetes="v1.36.3", annotations=annotations or {}, faults=faults or {})


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
    assert read_record('{"version":"9.99.0","channel":"s3","manifestHash":"x"}') == AddonRecord("", "x", 0)


def test_entry_for_another_kubernetes_is_skipped_and_the_last_fitting_one_counts():
    old = Addon("web", "old.yaml", "old.yaml", id="k8s-1.20", kubernetes_version="<1.30.0")
    odd = Addon("web", "odd.yaml", "odd.yaml", id="odd", kubernetes_version="soon")
    twin = Addon("web", "twin.yaml", "twin.yaml", id=WEB.id, manifest_hash=WEB.manifest_hash)
    new = Addon("web", "new.yaml", "new.yaml", id="k8s-1.36", kubernetes_version=">=1.36.0")

    found = choose_all(old, odd, WEB, twin, new)
    twins = choose_all(WEB, twin)

    assert [say(plan)[1:] for plan in found[:4]] == [
        ("other-kubernetes", "For Kubernetes <1.30.0; the server runs v1.36.3."),
        ("unreadable-range", "The range soon of Kubernetes versions is invalid: kOps ignores the entry."),
        ("other-entry", "A later entry with this name takes precedence."),
        ("other-entry", "A later entry with this name takes precedence."),
    ]
    assert (found[4].action, found[4].addon) == (AddonAction.INSTALL, new)
    assert [plan.is_applied for plan in twins] == [True, False]


def test_manifest_that_is_missing_or_another_one_is_not_planned():
    data = b"kind: A\n"
    good = Addon("good", "g", "g", manifest_hash=hash_manifest(data).upper())
    whole = Addon("whole", "g", "g", manifest_hash=hashlib.sha256(data).hexdigest())
    free = Addon("free", "g", "g")

    assert find_faults((good, whole, free), {"g": data}) == {}
    assert find_faults((WEB,), {}) == {WEB: AddonReason.NO_MANIFEST}
    assert find_faults((WEB,), {"web.yaml": data}) == {WEB: AddonReason.WRONG_HASH}
    (wrong,) = choose_all(WEB, faults={WEB: AddonReason.WRONG_HASH})
    (missing,) = choose_all(WEB, faults={WEB: AddonReason.NO_MANIFEST})
    (skipped,) = choose_all(WEB, annotations=record(), faults={WEB: AddonReason.NO_MANIFEST})
    assert say(wrong) == (
        "not-planned",
        "wrong-hash",
        "web.yaml is not the manifest of the channel: its SHA-256 is not aaaaaaaaaaaa.",
    )
    assert say(missing) == ("not-planned", "no-manifest", "Its manifest web.yaml is missing.")
    assert skipped.action is AddonAction.SKIP


def test_duties_of_kops_are_named_where_they_are_due():
    addon = Addon("web", needs_rolling_update="workers", needs_pki=True)
    (install,) = choose_all(addon)
    (update,) = choose_all(addon, annotations=record())
    (skipped,) = choose_all(replace(WEB, needs_pki=True), annotations=record())

    pki = "Needs a CA: applyviz does not create Secret web-ca and Issuer web in kube-system."
    assert list(list_duties(install)) == [pki]
    assert list(list_duties(update)) == [
        "Needs a rolling update of the worker nodes: applyviz does not replace nodes.",
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
    assert plan.write_record(bare) == '{"channel":"https://example.com/c.yaml","systemGeneration":1}'
    assert [addon.name for addon in plan.applied] == ["web", "bare"]
    assert (plan.find("bare"), plan.find("other")) == (bare, None)
