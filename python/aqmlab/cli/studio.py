"""The command `studio`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.problems import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 12

EPILOG = "Example: aqmlab studio li2014/table-1"


def studio(
    scenario: Annotated[
        str | None, typer.Argument(metavar="SCENARIO", help="A built-in name (li2014/table-1) or a TOML file.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port; default: any free port.")] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address of this machine, for a classroom; needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Admits everyone who has it; default: a token that works once.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    aqms: Annotated[
        list[str] | None, typer.Option("--aqm", metavar="FILE", help="A Python file with your own scheme; repeatable.")
    ] = None,
    own_laws: Annotated[
        list[str] | None,
        typer.Option("--cc", "--law", metavar="FILE", help="A file with your own congestion controller; repeatable."),
    ] = None,
    results: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Folder of sweep --out or reproduce --out; repeatable.")
    ] = None,
) -> None:
    """Show queues live in a browser: schemes side by side, which you change while they run.

    It listens on this machine only, loads nothing from elsewhere and admits one browser, by the address that it
    prints. If you give --host and --token, everyone in the network who knows the token can run simulations on this
    machine. The connection is not encrypted.
    """
    if host not in LOOPBACK and token is None:
        raise InputError("host", f"{host}: reachable from the network; give --token TEXT")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError("token", f"shorter than {SHORTEST_TOKEN} characters can be guessed")

    from aqmlab import laws, own
    from aqmlab.scenario import load

    for law in own_laws or []:
        laws.law_spec(law)  # from here on the catalogue has it
    loaded = None if scenario is None else load(scenario)
    schemes = [own.spec(aqm) for aqm in aqms or []]

    from aqmlab.studio.app import Studio
    from aqmlab.studio.results import folder
    from aqmlab.studio.serve import Address, listen

    folders = [folder(path) for path in results or []]
    serving = listen(Studio(loaded, schemes, folders), Address(host, port, token))
    address = serving.address if scenario is None else f"{serving.address}&scenario={_quoted(loaded and loaded.name)}"
    print(f"The studio is at {address}\nCtrl-C ends it.", file=sys.stderr)
    if host not in LOOPBACK:
        print("Anyone who has this address can run simulations here; the connection is not encrypted.", file=sys.stderr)
    if browser:
        _open(address)
    serving.run()


def _quoted(name: str | None) -> str:
    from urllib.parse import quote

    return quote(name or "")


def _open(address: str) -> None:
    """Open the browser once the server listens, which it does already."""
    import webbrowser

    webbrowser.open(address)
