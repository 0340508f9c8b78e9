"""Numbers that PostgreSQL writes differently: the plan is run, and the history verified, as on any other database."""

from __future__ import annotations

import pytest

from tests.services.owned import migrate, run_with
from tests.services.servers import environment_of, run_postgres

pytestmark = pytest.mark.services
STORY = """
import yaml
from tests.stories import Team
spec = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": spec}}
names = {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"}
definition = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "lamps.shop.example"},
    "spec": {"group": "shop.example", "scope": "Namespaced", "names": names, "versions": [version]},
}
text = "apiVersion: shop.example/v1\\nkind: Lamp\\nmetadata: {name: lamp-%d}\\nspec: {lux: %s, hue: -0.0, dim: 1e-7}\\n"
team = Team()
print(team.apply(yaml.safe_dump(definition)).state)
for number in ("1.5e+3", "1.5e+20", "1.5e+30"):
    run = team.apply(*(text % (n, number) for n in range(3)))
    print(run.state, run.error)
"""


def test_numbers_with_exponents_are_run_and_verified() -> None:
    keys = environment_of("")
    with run_postgres() as superuser:
        app = migrate(keys, superuser)

        told = run_with(keys, app, "manage.py", "shell", "-v", "0", text=STORY).stdout.split()
        verified = run_with(keys, app, "manage.py", "audit", "verify", "--processes", "1").stdout

    assert told == ["applied"] * 4
    assert "entries are intact" in verified
