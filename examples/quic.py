"""A fetch over QUIC, and the round trips meanwhile.

pip install aioquic
python quic.py serve
python quic.py fetch HOST MEGABYTES
"""

import asyncio
import ssl
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from aioquic.asyncio import connect, serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PORT = 4433
MEGABYTE = 1_000_000


def certificate(folder: Path) -> QuicConfiguration:
    """A server's configuration with a certificate of its own signature, which no client trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = made.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key").write_bytes(secret)
    (folder / "certificate").write_bytes(signed.public_bytes(pem))
    configuration = QuicConfiguration(is_client=False)
    configuration.load_cert_chain(folder / "certificate", folder / "key")
    return configuration


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send as many megabytes as are asked for."""
    for _ in range(int(await reader.read())):
        writer.write(bytes(MEGABYTE))
    writer.write_eof()


async def server() -> None:
    """Serve until killed."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = certificate(Path(folder))
    answers = set()  # which keeps them

    def start(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers.add(asyncio.create_task(answer(reader, writer)))

    await serve("::", PORT, configuration=configuration, stream_handler=start)
    await asyncio.Event().wait()


async def ping(connection: QuicConnectionProtocol, is_over: asyncio.Event) -> list[float]:
    """Measure round trips, ten times a second."""
    times = []
    while not is_over.is_set():
        begin = time.monotonic()
        await connection.ping()
        times.append(time.monotonic() - begin)
        await asyncio.sleep(0.1)
    return times


async def fetch(host: str, megabytes: str) -> None:
    """Fetch so much, and print how fast it came and what round trips were meanwhile."""
    configuration = QuicConfiguration(verify_mode=ssl.CERT_NONE, max_data=64 * MEGABYTE, max_stream_data=64 * MEGABYTE)
    async with connect(host, PORT, configuration=configuration) as connection:
        is_over = asyncio.Event()
        pings = asyncio.create_task(ping(connection, is_over))
        begin, size = time.monotonic(), 0
        reader, writer = await connection.create_stream()
        writer.write(megabytes.encode())
        writer.write_eof()
        while data := await reader.read(1 << 16):
            size += len(data)
        rate = 8e-6 * size / (time.monotonic() - begin)
        is_over.set()
        times = [1e3 * seconds for seconds in await pings]
        print(f"{size:,} B at {rate:.2f} Mbit/s; round trips of {median(times):.0f} ms, at most {max(times):.0f} ms")


if __name__ == "__main__":
    asyncio.run(fetch(*sys.argv[2:4]) if sys.argv[1] == "fetch" else server())
