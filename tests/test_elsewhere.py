"""What works outside Linux: the package without the modules that only Unix has. No test runs elsewhere."""

import subprocess
import sys
from pathlib import Path

UNIX = ("fcntl", "grp", "pwd", "resource", "termios")

HIDDEN = f"""
import sys
for name in {UNIX}:
    sys.modules[name] = None
"""

LOADED = """
import pkgutil, aqmlab
for found in pkgutil.walk_packages(aqmlab.__path__, "aqmlab."):
    if not found.name.endswith(("__main__", "sb3", "cluster")):
        __import__(found.name)
"""

# A sweep with the lock of Windows, which is made of Linux's here; `held` is 1 if another process has it.
WINDOWS = """
import sys, types, aqmlab, aqmlab.runs.sweep, aqmlab.lock
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK = 2
def locking(file, mode, count):
    assert (mode, count) == (2, 1)
    if int(sys.argv[1]):
        raise PermissionError(13, "held")
windows.locking = locking
sys.modules["msvcrt"] = windows
sys.platform = "win32"
try:
    with aqmlab.lock.held(__import__("pathlib").Path("."), "out", "another sweep"):
        print("held")
except aqmlab.InputError as why:
    print(why)
"""


def run(text: str, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + text, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_loads_without_what_only_unix_has(tmp_path: Path) -> None:
    run(LOADED, cwd=tmp_path)


def test_runs_and_comparisons_work_without_what_only_unix_has(tmp_path: Path) -> None:
    text = "import aqmlab\nprint(aqmlab.compare('li2014/table-1', 'pi,red', seeds=2, set={'duration': '12 s'}).table())"
    assert "red" in run(text, cwd=tmp_path)


def test_a_folder_is_locked_on_windows(tmp_path: Path) -> None:
    assert run(WINDOWS, "0", cwd=tmp_path) == "held\n"
    assert "another sweep is at work in it" in run(WINDOWS, "1", cwd=tmp_path)
