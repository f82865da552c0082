"""Write THIRD-PARTY.txt: the crates that are compiled into the wheel, with versions and licences.

`python packaging/third_party.py --check` writes nothing and exits with 1 if the file is out of date. Of a crate with a
choice of licences the text of the MIT licence stands here. Equal texts stand once, behind all crates that have them.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "THIRD-PARTY.txt"
WHEEL = "aqmlab-python"
TARGET = "x86_64-unknown-linux-gnu"
TEXTS = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
RULE = "-" * 80
HEAD = """Compiled into the wheel of aqmlab: the Rust standard library (MIT OR Apache-2.0) and these crates.
Written by packaging/third_party.py from Cargo.lock; do not edit.
"""


def main() -> int:
    """Write the file, or with --check only say whether it is out of date."""
    text = document(crates())
    if "--check" in sys.argv:
        is_stale = not FILE.exists() or FILE.read_text(encoding="utf-8") != text
        if is_stale:
            print(f"{FILE.name} is out of date")
        return int(is_stale)
    FILE.write_text(text, encoding="utf-8")
    return 0


def crates() -> list[dict[str, Any]]:
    """Return the crates from elsewhere that the wheel is compiled from, by name; build scripts' and tests' are none."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    needs = {node["id"]: node["deps"] for node in found["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] == WHEEL]
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            waiting += [each["pkg"] for each in needs[key] if any(kind["kind"] is None for kind in each["dep_kinds"])]
    chosen = [packages[key] for key in seen if packages[key]["source"]]
    return sorted(chosen, key=lambda package: (package["name"], package["version"]))


def document(found: list[dict[str, Any]]) -> str:
    """Return a list of the crates, then the licences."""
    owners: dict[str, list[str]] = {}
    for crate in found:
        for text in licences(crate):
            owners.setdefault(text, []).append(crate["name"])
    listed = "\n".join(f"{crate['name']} {crate['version']}: {crate['license']}" for crate in found)
    texts = (f"{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}\n" for text, names in owners.items())
    return "\n".join([HEAD, listed, "", *texts])


def licences(crate: dict[str, Any]) -> list[str]:
    """Return the texts of a crate's licences; a crate without any is a fault."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.name.upper().startswith(TEXTS))
    if any("MIT" in path.name for path in files):
        files = [path for path in files if "APACHE" not in path.name and path.name != "COPYING"]
    if not files:
        raise SystemExit(f"{crate['name']} {crate['version']} has no text of its licence")
    return [
        "\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").strip().splitlines()) for path in files
    ]


if __name__ == "__main__":
    sys.exit(main())
