"""A wire between two processes that can be cut: what is on it then is held, as a network does that loses packets.

Connections stand meanwhile and new ones hear nothing; when the wire is whole again everything that was held
arrives, late, even when the sender had given up by then.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Link:
    """A port that leads to another one of this machine.

    - `cut(seconds)` holds everything for so long; `flap(seconds)` cuts it every half second for half a second.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]
        self._whole = threading.Event()
        self._whole.set()
        self._until = 0.0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def is_whole(self) -> bool:
        """Whether bytes pass."""
        return self._whole.is_set()

    def cut(self, seconds: float) -> None:
        """Hold everything; comes back at once, and the wire is whole again by itself."""
        self._keep_up([(seconds, False)])

    def flap(self, seconds: float) -> None:
        """Now cut, now whole, for so long; comes back at once."""
        self._keep_up([(0.5, n % 2 == 1) for n in range(max(1, int(seconds / 0.5)))])

    def mend(self) -> None:
        """Whole from now on, whatever was asked for before."""
        self._until = 0.0
        self._whole.set()

    def close(self) -> None:
        """Take no more connections."""
        self.mend()
        self._listening.close()

    def _keep_up(self, pieces: list[tuple[float, bool]]) -> None:
        mine = time.monotonic() + sum(seconds for seconds, _ in pieces)
        self._until = mine

        def keep_up() -> None:
            for seconds, is_whole in pieces:
                if self._until != mine:  # somebody asked for something else meanwhile
                    return
                (self._whole.set if is_whole else self._whole.clear)()
                time.sleep(seconds)
            if self._until == mine:
                self.mend()

        if pieces[0][1] is False:
            self._whole.clear()
        threading.Thread(target=keep_up, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        self._whole.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=self._carry, args=(server, client), daemon=True)
        back.start()
        self._carry(client, server)
        back.join()
        client.close()
        server.close()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._whole.wait()
                sink.sendall(data)
        except OSError:
            _hang_up(source)
        self._whole.wait()  # the end of a connection is a packet like any other
        _hang_up(sink)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_WR)
