#!/usr/bin/env python
"""The command line: `manage.py serve`, `migrate`, `seed_demo`, `conformance` and Django's own commands."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run one command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "applyviz.settings")
    gc.disable()  # until the applications are ready (`WebConfig.ready`): nothing that is loaded is garbage
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import OperationalError, connection
    except ImportError as error:
        raise SystemExit(f"Django is not installed here ({error}); run scripts/run, which makes .venv first") from error
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        raise SystemExit(f"applyviz is not configured: {error}") from None
    except OperationalError as error:
        if connection.connection is not None:
            raise
        raise SystemExit(f"applyviz is not configured: DATABASE_URL: {' '.join(str(error).split())}") from None


if __name__ == "__main__":
    main()
