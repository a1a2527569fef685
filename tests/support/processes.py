"""States, locks and connections of processes, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

READ_MARKS = range(123, 128)
"""The bytes of `-shm` that SQLite locks to hold a snapshot."""


ESTABLISHED = "01"
"""The state of a connection that neither end has closed."""


def state(pid: int) -> str:
    """The letter that the kernel gives the state of a process, empty where there is none: T is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def writing(store: Path) -> int | None:
    """The process that has the turn to write, if any."""
    inode = os.stat(f"{store}.lock").st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        match line.split():
            case [_, "FLOCK", _, _, pid, inode_field, *_] if int(inode_field.rpartition(":")[2]) == inode:
                return int(pid)
    return None


def reading(store: Path) -> set[int]:
    """The processes that hold a snapshot of the file: SQLite's read marks are five bytes of `-shm`."""
    inode = os.stat(f"{store}-shm").st_ino
    pids = set()
    for line in Path("/proc/locks").read_text().splitlines():
        match line.split():
            case [_, "POSIX", _, "READ", pid, inode_field, first, _] if (
                int(inode_field.rpartition(":")[2]) == inode
            ):
                pids.update({int(pid)} if int(first) in READ_MARKS else ())
    return pids


def group(leader: int) -> list[int]:
    """The processes of a group that live."""
    members = []
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        try:
            if os.getpgid(pid) == leader and state(pid) not in ("", "Z", "X"):
                members.append(pid)
        except ProcessLookupError:
            continue
    return members


def connected(pids: Iterable[int], port: int) -> bool:
    """Whether one of the processes holds a connection to a port on 127.0.0.1."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    inodes = [words[9] for words in lines if words[2:4] == [f"0100007F:{port:04X}", ESTABLISHED]]
    return any(has_socket(pid, inode) for pid in pids for inode in inodes)


def server_end(server_port: int, client_port: int) -> str:
    """The inode of the server's end of a connection on 127.0.0.1; empty where there is none."""
    ends = [f"0100007F:{port:04X}" for port in (server_port, client_port)]
    for line in Path("/proc/net/tcp").read_text().splitlines():
        words = line.split()
        if words[1:3] == ends:
            return words[9]
    return ""


def has_socket(pid: int, inode: str) -> bool:
    try:
        return any(os.readlink(path) == f"socket:[{inode}]" for path in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
