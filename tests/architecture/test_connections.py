"""The processes of the compose file together stay below the connections that PostgreSQL allows by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]

ALLOWED, RESERVED = 100, 3  # `max_connections` and `superuser_reserved_connections` of PostgreSQL
OF_A_TASK = 3  # its own, that of the renewal of its lease, and one to spare


def _count(service: dict[str, Any]) -> int:
    """The most connections of a service with all its replicas."""
    command, environment = service.get("command", []), service.get("environment", {})
    replicas = service.get("deploy", {}).get("replicas", 1)
    if "worker" in command:
        return replicas * OF_A_TASK * int(command[command.index("--concurrency") + 1])
    return replicas * int(environment.get("APPLYVIZ_DATABASE_POOL", 1))


def test_connections_of_all_processes_fit():
    services = read_yaml(ROOT / "docker-compose.yml")["services"]
    ours = {name: _count(service) for name, service in services.items() if name not in ("postgres", "redis")}

    assert ours["worker-runs"] == 24
    assert sum(ours.values()) <= ALLOWED - RESERVED


def test_each_process_that_works_proves_that_it_does():
    services = read_yaml(ROOT / "docker-compose.yml")["services"]
    for name in ("worker-runs", "worker-plans", "worker-short", "beat"):
        service = services[name]
        assert service["environment"]["APPLYVIZ_PULSE_FILE"] in service["healthcheck"]["test"][1]
