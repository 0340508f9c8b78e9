"""The personal installation: pages, a real worker, a sandbox with a story, demo accounts.

All of it is one process; scans of whole clusters, which may wait, have processes of their own.
"""

from __future__ import annotations

import errno
import json
import signal
import socket
import warnings
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, cast

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from applyviz.demo import load_demo
from applyviz.web.management import data_folder
from applyviz.web.management.worker import EmbeddedWorker
from applyviz.workflow import runs
from applyviz.workflow.live import scan_process
from applyviz.workflow.ops import demo

_SHUTDOWN_SECONDS = 3


def _bind(host: str, port: int) -> socket.socket:
    """Return the listening socket; raises a clear error."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise CommandError(
                f"port {port} on {host} is in use; stop what listens there, or choose another: --port {port + 1}"
            ) from error
        raise CommandError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listening


def render_address(host: str, port: int) -> str:
    """Return the URL that people of this machine open."""
    shown = "localhost" if host in ("127.0.0.1", "::1", "0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _end_cleanly(server: uvicorn.Server) -> None:
    """Let Ctrl-C only request the end from now on: an exception could be lost in the code that runs at that moment."""

    def ask(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)


def _keep_address_on_screen() -> None:
    """Log requests only if `LOG_LEVEL` asks for it.

    - The options of uvicorn would not last: the application sets up logging again when uvicorn loads it.
    """
    loggers = cast("dict[str, dict[str, object]]", settings.LOGGING["loggers"])
    for name in ("uvicorn", "uvicorn.access", "uvicorn.error"):
        loggers[name]["level"] = cast("dict[str, object]", settings.LOGGING["root"])["level"]


class Command(BaseCommand):
    """`manage.py serve [--host 127.0.0.1] [--port 8000] [--reset]`."""

    help = "Serve applyviz on this machine: pages, worker and a demo in one process. Ctrl-C stops everything."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
        parser.add_argument("--reset", action="store_true", help="delete all data and start over")
        parser.add_argument("--no-demo", action="store_true", help="start without the demo")

    def handle(self, *args: object, **options: Any) -> None:
        """Prepare, serve, stop."""
        if not settings.APPLYVIZ_IS_PERSONAL:
            raise CommandError("serve is for one person's machine; DATABASE_URL is set: run the web server and worker")
        listening = _bind(options["host"], options["port"])
        if options["host"] not in settings.ALLOWED_HOSTS and options["host"] not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
            settings.ALLOWED_HOSTS.append(options["host"])
        with listening, data_folder.lock(Path(settings.APPLYVIZ_HOME)) as folder:
            self._prepare(is_reset=options["reset"], has_demo=not options["no_demo"])
            address = render_address(options["host"], listening.getsockname()[1])
            folder.announce(address)
            self._serve(listening, address)

    def _prepare(self, *, is_reset: bool, has_demo: bool) -> None:
        if is_reset:
            self._forget()
        data_folder.require_usable_database()
        call_command("migrate", verbosity=0, interactive=False)
        if has_demo and not demo.has_story():
            self.stdout.write("Preparing the demo ...")
            accounts = demo.seed_demo(load_demo())
            self._keep_accounts({account.name: account.password for account in accounts})
        runs.release_leases()

    @property
    def _accounts_file(self) -> Path:
        return Path(settings.APPLYVIZ_HOME) / "keys" / "demo-accounts.json"

    def _keep_accounts(self, passwords: dict[str, str]) -> None:
        path = self._accounts_file
        path.touch(mode=0o600)
        path.write_text(json.dumps(passwords), encoding="utf-8")

    def _forget(self) -> None:
        connections.close_all()
        database = Path(settings.DATABASES["default"]["NAME"])
        for path in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal"))):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise CommandError(
                    f"cannot delete {path} ({error.strerror}); delete it, or choose another data folder: "
                    "APPLYVIZ_HOME=FOLDER"
                ) from error
        self._accounts_file.unlink(missing_ok=True)

    def _greet(self, address: str) -> None:
        self.stdout.write(f"\napplyviz is ready: {address}/\n")
        if self._accounts_file.exists():
            self.stdout.write("Demo accounts (made for this installation):")
            for name, password in json.loads(self._accounts_file.read_text(encoding="utf-8")).items():
                self.stdout.write(f"  {name:<8} {password}   {demo.describe_roles(name)}")
        self.stdout.write(f"The database and the keys are in {settings.APPLYVIZ_HOME}.")
        self.stdout.write("Pages and worker are in this process. Ctrl-C stops everything.\n")
        self.stdout.flush()

    def _serve(self, listening: socket.socket, address: str) -> None:
        # Both are harmless here: static files come from their folders, and are small.
        warnings.filterwarnings("ignore", message="No directory at")
        warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
        scan_process.start_processes()
        worker = EmbeddedWorker()
        _keep_address_on_screen()
        config = uvicorn.Config(
            "applyviz.asgi:application",
            log_config=None,
            proxy_headers=False,  # `ProxyMiddleware` knows which proxies count
            lifespan="off",
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        server = uvicorn.Server(config)
        _end_cleanly(server)
        worker.start()
        self._greet(address)
        try:
            server.run(sockets=[listening])
        finally:
            worker.stop()
            connections.close_all()
            self.stdout.write("Stopped.")
