"""User namespaces: whether this machine gives them to an ordinary program; nothing runs live without them."""

import os
from pathlib import Path

PROC = Path("/proc/sys")


def setting(name: str) -> str | None:
    """Return a setting of the kernel, None if there is none of that name."""
    path = PROC / name
    return path.read_text(encoding="ascii").strip() if path.exists() else None


def refusal() -> tuple[str, str] | None:
    """Return why user namespaces are refused, and the command that allows them; None if no obstacle is known."""
    if setting("user/max_user_namespaces") == "0":
        return "none are allowed", "sudo sysctl -w user.max_user_namespaces=10000"
    if os.getuid() != 0 and setting("kernel/unprivileged_userns_clone") == "0":
        return "only root may create them", "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if os.getuid() != 0 and setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        mend = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        return "AppArmor blocks them for unprivileged programs", mend
    return None
