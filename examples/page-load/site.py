"""A web site with one page: 30 images of 18 kB, and its load time as Chromium measures it."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from struct import pack
from zlib import compress, crc32

IMAGES = 30
PAGE = """<html><body>{images}<script>addEventListener("load", () => setTimeout(() => {{
const entry = performance.getEntriesByType("navigation")[0]
document.body.innerHTML = "LOAD=" + entry.loadEventStart / 1000 }}, 0))</script></body></html>
"""


def page() -> bytes:
    """Return the page."""
    return PAGE.format(images="".join(f'<img src="{i}.png">' for i in range(IMAGES))).encode()


def image(number: int) -> bytes:
    """Return a PNG of noise, about 18 kB."""
    random = Random(number)
    rows = b"".join(b"\0" + random.randbytes(300) for _ in range(60))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    head = chunk(b"IHDR", pack(">IIBBBBB", 100, 60, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", compress(rows)) + chunk(b"IEND", b"")


FILES = {"/": ("text/html", page()), **{f"/{i}.png": ("image/png", image(i)) for i in range(IMAGES)}}


class Site(BaseHTTPRequestHandler):
    """Serves the files over persistent connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a file."""
        found = FILES.get(self.path)
        kind, data = found or ("text/plain", b"")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


ThreadingHTTPServer(("", 8000), Site).serve_forever()
