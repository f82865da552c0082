"""The address of the studio, and who is let in."""

import secrets
import socket
import sys
import threading
from asyncio import BaseTransport
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from aqmlab.extras import required
from aqmlab.problems import InputError
from aqmlab.runs import memory
from aqmlab.studio.app import Studio, app
from aqmlab.studio.budget import LIMIT
from aqmlab.studio.gate import LARGEST_BODY, Gate
from aqmlab.studio.turns import SWITCH

with required():
    import uvicorn
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

FILES = 4096
"""Open files, sockets included, where the system allows so many."""
READ = 1 << 12
"""Bytes that are read of a connection before the others have their turn."""


class Protocol(WebSocketsSansIOProtocol):
    """A WebSocket that reads little at once: 256 KiB, which asyncio would read, can hold 40,000 messages."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin to read."""
        transport.max_size = READ  # type: ignore[attr-defined]  # of asyncio's transports on sockets
        super().connection_made(transport)


@dataclass(frozen=True)
class Address:
    """The address at which the studio listens; without a classroom's `token` a new one is made that serves once."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None


@dataclass(frozen=True)
class Serving:
    """A studio that listens; `address` contains the token."""

    server: uvicorn.Server
    sockets: Sequence[socket.socket]
    address: str

    def run(self) -> None:
        """Serve until Ctrl-C."""
        sys.setswitchinterval(SWITCH)
        memory.set_limit(f"{LIMIT:.0f} B")  # of runs for exports
        self.server.run(sockets=list(self.sockets))


def listen(studio: Studio, place: Address) -> Serving:
    """Return a studio that listens already; InputError if it cannot listen there."""
    _raise_limit()
    listening = _socket(place)
    port = listening.getsockname()[1]
    name = f"[{place.host}]" if ":" in place.host else place.host
    hosts = {f"{name}:{port}"}
    if _is_loopback(place.host):
        hosts.add(f"localhost:{port}")
    token = place.token or secrets.token_urlsafe(32)
    gate = Gate(app(studio), frozenset(hosts), token, shared=place.token is not None, cookie=f"aqmlab-studio-{port}")
    config = uvicorn.Config(
        gate,
        http="h11",
        ws=Protocol,
        ws_max_size=LARGEST_BODY,
        ws_max_queue=8,
        ws_per_message_deflate=False,
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    threading.Thread(target=lambda: studio.catalogue, daemon=True).start()  # the first page waits for it
    return Serving(uvicorn.Server(config), [listening], f"http://{name}:{port}/?token={token}")


def _socket(place: Address) -> socket.socket:
    try:
        [(family, kind, proto, _, address), *_] = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        if ip_address(address[0]).is_unspecified:
            raise InputError("host", f"{place.host}: is every address; name the one at which others reach this machine")
        listening = socket.socket(family, kind, proto)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        raise InputError(
            "port", f"{place.host}:{place.port}: cannot listen there: {error.strerror or error}"
        ) from error
    return listening


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _raise_limit() -> None:
    """Let idle connections not use up all files; Windows has no such limit."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
