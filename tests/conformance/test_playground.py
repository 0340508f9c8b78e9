"""How the judge of the playground reads what kubectl prints of a refusal."""

from __future__ import annotations

from applyviz.conformance.playground import read_causes


def test_causes_after_the_lines_of_a_struct_count():
    refusal = (
        'The PersistentVolumeClaim "data" is invalid: \n'
        "* spec: Forbidden: spec is immutable after creation\n"
        '@@ -5,9 +5,7 @@\n  "Selector": null,\n-  "Requests": {\n+  "Requests": null\n  },\n\n'
        "* spec.resources.requests.storage: Forbidden: field can not be less than status.capacity\n"
    )

    assert read_causes(refusal) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
        "spec: Forbidden: spec is immutable after creation",
    ]
