"""A proxy that makes a server farther away: every chunk that a client sends arrives so many milliseconds later.

    .venv/bin/python -m benchmarks.delaying TARGET_PORT MILLISECONDS

Prints the port it listens on. It knows nothing of TLS or HTTP: one delay per round trip, in order, and chunks that
are sent one after the other travel together. What the server answers is passed on at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

_CHUNK = 256 * 1024


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, chunk = await waiting.get()
            if (left := due - loop.time()) > 0:
                await asyncio.sleep(left)
            if not chunk:
                writer.close()
                return
            writer.write(chunk)
            await writer.drain()

    delivering = asyncio.ensure_future(deliver())
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            waiting.put_nowait((loop.time() + delay, chunk))
    waiting.put_nowait((loop.time() + delay, b""))
    with contextlib.suppress(OSError):
        await delivering


async def _serve(target: int, delay: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(_pass_on(reader, there_writer, delay), _pass_on(there_reader, writer, 0.0))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@contextmanager
def run_proxy(target: int, milliseconds: float) -> Iterator[int]:
    """Run the proxy in a separate process; return its port."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "benchmarks.delaying", str(target), str(milliseconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", type=int)
    parser.add_argument("milliseconds", type=float)
    options = parser.parse_args()
    asyncio.run(_serve(options.target, options.milliseconds / 1000))


if __name__ == "__main__":
    main()
