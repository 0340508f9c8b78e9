"""A git repository of the tests, in memory, served over smart HTTPS by dulwich; what came in is kept."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from dulwich.objects import Blob, Commit, ObjectID, Tag, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import MemoryRepo
from dulwich.server import DictBackend
from dulwich.web import HTTPGitApplication

FILE, LINK, SUBMODULE = 0o100644, 0o120000, 0o160000
Content = bytes | tuple[int, bytes]
Answer = Callable[[Mapping[str, str]], tuple[str, list[tuple[str, str]], bytes] | None]
WHEN = 1_767_225_600  # 2026-01-01T00:00:00Z


@dataclass
class GitRepository:
    """A repository whose commits tests write."""

    repo: MemoryRepo = field(default_factory=MemoryRepo)

    def _tree(self, files: Mapping[str, Content]) -> ObjectID:
        tree, folders = Tree(), {}
        for name, content in files.items():
            first, slash, rest = name.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = content
                continue
            mode, data = content if isinstance(content, tuple) else (FILE, content)
            if mode == SUBMODULE:
                tree.add(first.encode(), mode, ObjectID(data))
                continue
            blob = Blob.from_string(data)
            self.repo.object_store.add_object(blob)
            tree.add(first.encode(), mode, blob.id)
        for name, below in folders.items():
            tree.add(name.encode(), 0o040000, self._tree(below))
        self.repo.object_store.add_object(tree)
        return tree.id

    def commit(
        self,
        files: Mapping[str, Content],
        *,
        message: str = "Change things\n\nWith a reason.",
        author: str = "Ada Lovelace <ada@example.org>",
        branch: str = "main",
        committer: str = "",
        parents: Sequence[str] | None = None,
    ) -> str:
        """Write one commit to a branch; return its id. With `parents`, the branch is moved there by force."""
        ref = Ref(f"refs/heads/{branch}".encode())
        commit = Commit()
        commit.tree = self._tree(files)
        commit.parents = [self.repo.refs[ref]] if ref in self.repo.refs else []
        if parents is not None:
            commit.parents = [ObjectID(parent.encode()) for parent in parents]
        commit.author, commit.committer = author.encode(), (committer or author).encode()
        commit.author_time = commit.commit_time = WHEN
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = message.encode()
        self.repo.object_store.add_object(commit)
        self.repo.refs[ref] = commit.id
        self.repo.refs.set_symbolic_ref(HEADREF, Ref(b"refs/heads/main"))
        return commit.id.decode()

    def tag(self, name: str, commit: str, *, is_annotated: bool = True) -> None:
        """Name a commit."""
        oid = ObjectID(commit.encode())
        if is_annotated:
            tag = Tag()
            tag.name, tag.object, tag.message = name.encode(), (Commit, oid), b"A release"
            tag.tagger, tag.tag_time, tag.tag_timezone = b"Ada <ada@example.org>", WHEN, 0
            self.repo.object_store.add_object(tag)
            oid = tag.id
        self.repo.refs[Ref(f"refs/tags/{name}".encode())] = oid


@dataclass
class GitServer:
    """A listening server; `seen` holds method, path and Authorization of each request."""

    port: int
    scheme: str
    seen: list[tuple[str, str, str]] = field(default_factory=list)

    def url(self, path: str = "/team/shop.git", host: str = "localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://localhost:{self.port}"


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class _Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def get_request(self):
        """Leave the handshake to the thread of the connection."""
        connection, address = super().get_request()
        if self.tls is None:
            return connection, address
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves early is no error here."""


@contextmanager
def serving_git(
    repositories: Mapping[str, GitRepository], tls: ssl.SSLContext | None = None, answer: Answer = lambda _environ: None
) -> Iterator[GitServer]:
    """Serve repositories by path; `answer` may answer a request in their place, with status, headers and body."""
    git = HTTPGitApplication(DictBackend({path: one.repo for path, one in repositories.items()}))

    def application(environ, start_response):
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        server.seen.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], authorization))
        given = answer(environ)
        if given is None:
            return git(environ, start_response)
        status, headers, body = given
        start_response(status, headers)
        return [body]

    with make_server("127.0.0.1", 0, application, server_class=_Threads, handler_class=_Quiet) as listening:
        listening.tls = tls
        server = GitServer(listening.server_port, "https" if tls else "http")
        threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown()
