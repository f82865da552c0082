"""The outermost gate: whatever is not from the studio's own page, over HTTP or WebSocket, ends here."""

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 1 << 20
"""Bytes of a body or of a message."""
REQUESTS = 64
"""Requests at the same time."""
SOCKETS = 32
"""WebSockets at the same time."""

HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Of every answer."""

METHODS = {"GET", "HEAD", "POST"}


class TooLargeError(Exception):
    """A body has more bytes than are accepted."""


@dataclass
class RefusedError(Exception):
    """The reason why a request is refused."""

    status: int
    why: str


@dataclass
class Gate:
    """Lets requests with the right Host, Origin and cookie pass to `app`.

    The cookie is given for the token in the address of the page. The token serves once, unless it is `shared`: then
    everybody in a classroom comes in with it.
    """

    app: App
    hosts: frozenset[str]
    """Allowed values of Host, port included."""
    token: str
    shared: bool = False
    cookie: str = "aqmlab-studio"
    _secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _requests: int = 0
    _sockets: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        is_socket = scope["type"] == "websocket"
        self._requests, self._sockets = self._requests + (not is_socket), self._sockets + is_socket
        try:
            gives_cookie = self._check(scope, is_socket=is_socket)
        except RefusedError as refusal:
            await _refuse(refusal, send, is_socket=is_socket)
        else:
            await self._pass(scope, receive, send, gives_cookie=gives_cookie)
        finally:
            self._requests, self._sockets = self._requests - (not is_socket), self._sockets - is_socket

    def _check(self, scope: Scope, *, is_socket: bool) -> bool:
        """Return whether the request is to get the cookie; RefusedError if it is not to pass."""
        if self._requests > REQUESTS or self._sockets > SOCKETS:
            raise RefusedError(503, "too many at the same time")
        host = _only(scope, b"host")
        if host not in self.hosts:
            raise RefusedError(403, "Host is not this server")
        method = "GET" if is_socket else scope["method"]
        if method not in METHODS:
            raise RefusedError(405, "method is not allowed")
        origin = _only(scope, b"origin")
        if origin != f"http://{host}" and (origin is not None or is_socket or method == "POST"):
            raise RefusedError(403, "Origin is not this server's page")
        length = _only(scope, b"content-length")
        if length is not None and (not length.isdecimal() or int(length[:12]) > LARGEST_BODY):
            raise RefusedError(413, f"larger than {LARGEST_BODY} bytes")
        if self._has_cookie(scope):
            return False
        if not is_socket and scope["path"] == "/" and self._has_token(scope):
            return True
        raise RefusedError(403, "open the studio with the address that it printed; a token serves once")

    def _has_cookie(self, scope: Scope) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        for name, value in scope["headers"]:
            if name == b"cookie":
                try:
                    cookies.load(value.decode("latin-1"))
                except CookieError:
                    return False
        found = cookies.get(self.cookie)
        return found is not None and hmac.compare_digest(found.value.encode(), self._secret.encode())

    def _has_token(self, scope: Scope) -> bool:
        try:
            given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("token", [])
        except ValueError:  # more fields
            return False
        if len(given) != 1 or not self.token or not hmac.compare_digest(given[0].encode(), self.token.encode()):
            return False
        if not self.shared:
            self.token = ""
        return True

    async def _pass(self, scope: Scope, receive: Receive, send: Send, *, gives_cookie: bool) -> None:
        size, started, too_large = 0, False, False

        async def receive_less() -> Message:
            nonlocal size, too_large
            message = await receive()
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                if size > LARGEST_BODY:
                    too_large = True
                    raise TooLargeError
            return message

        async def send_more(message: Message) -> None:
            nonlocal started
            if too_large and not started:
                return  # what the app makes of the error
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *_headers()]
                if gives_cookie:
                    cookie = f"{self.cookie}={self._secret}; HttpOnly; SameSite=Strict; Path=/"
                    message["headers"].append((b"set-cookie", cookie.encode()))
            await send(message)

        with suppress(TooLargeError):
            await self.app(scope, receive_less, send_more)
        if too_large and not started:
            await _refuse(RefusedError(413, f"larger than {LARGEST_BODY} bytes"), send, is_socket=False)


def _only(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header that is there once, None without it; no value at all where it is there twice."""
    found = [value for key, value in scope["headers"] if key == name]
    if len(found) > 1:
        return ""
    return found[0].decode("latin-1") if found else None


def _headers() -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in HEADERS.items()]


async def _refuse(refusal: RefusedError, send: Send, *, is_socket: bool) -> None:
    if is_socket:
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.why})
        return
    body = json.dumps({"error": refusal.why}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*head, *_headers()]})
    await send({"type": "http.response.body", "body": body})
