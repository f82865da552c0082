"""A language server, as editors start it, completes and explains a scenario by the schema of `aqmlab schema`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from conftest import Aqmlab

SCENARIO = """#:schema ./scenario.schema.json
schema = 1
duration = "10 s"

[[links]]
name = "line"
rate = "10 Mbit/s"
buffer = "100 packets"

[[flows]]
rtt = "40 ms"
"""


class Editor:
    """A client of the language server, which reads the messages that it waits for and answers questions with null."""

    def __init__(self, server: "subprocess.Popen[bytes]", folder: Path) -> None:
        assert server.stdin
        assert server.stdout
        self.to: IO[bytes] = server.stdin
        self.by: IO[bytes] = server.stdout
        self.asked = 0
        folders = [{"uri": folder.as_uri(), "name": "mine"}]
        self.ask("initialize", {"processId": None, "capabilities": {}, "workspaceFolders": folders})
        self.send({"method": "initialized", "params": {}})
        self.document = {"uri": (folder / "mine.toml").as_uri()}
        opened = {**self.document, "languageId": "toml", "version": 1, "text": SCENARIO}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": opened}})
        while self.read().get("method") != "textDocument/publishDiagnostics":
            pass  # the schema is read before

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.to.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.to.flush()

    def read(self) -> dict[str, Any]:
        headers = [line.split(b":") for line in iter(lambda: self.by.readline().strip(), b"")]
        [length] = [int(value) for name, value in headers if name.lower() == b"content-length"]
        message: dict[str, Any] = json.loads(self.by.read(length))
        if "method" in message and "id" in message:
            self.send({"id": message["id"], "result": None})
        return message

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while (message := self.read()).get("id") != self.asked or "method" in message:
            pass
        return message["result"]

    def at(self, method: str, line: str, after: int = 0) -> Any:
        place = {"line": SCENARIO.splitlines().index(line) + after, "character": 0}
        return self.ask(f"textDocument/{method}", {"textDocument": self.document, "position": place})


@pytest.fixture
def editor(aqmlab: Aqmlab, tmp_path: Path) -> Iterator[Editor]:
    assert aqmlab("schema", "scenario", "--out", "scenario.schema.json").returncode == 0
    (tmp_path / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("tombi")), "lsp", "--offline"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        yield Editor(server, tmp_path)
        server.kill()


def test_an_editor_completes_the_keys_of_a_link_and_explains_them(editor: Editor) -> None:
    explained = editor.at("hover", 'rate = "10 Mbit/s"')["contents"]["value"]
    assert "rate, 1 bit/s to 10 Tbit/s" in explained
    assert "Rate of the transmitter" in explained
    found = editor.at("completion", 'buffer = "100 packets"', after=1)
    keys = {item["label"] for item in (found if isinstance(found, list) else found["items"])}
    assert {"aqm", "delay", "ecn", "overhead", "policer"} <= keys
    assert not {"rate", "rtt"} & keys, "one is there, the other is a key of flows"
