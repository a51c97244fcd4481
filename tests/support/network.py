"""Network namespaces of their own for processes under test."""

from __future__ import annotations

import os
import subprocess

# Two addresses of a link, and no address that a company's network uses (RFC 6598).
_NET = "100.100.{}.{}"


class NetworkNamespace:
    """A network namespace, connected to this machine by one link.

    `here` is the address of this machine on the link. `prefix` begins a command that runs inside. Needs root.
    """

    def __init__(self, number: int) -> None:
        self.name = f"ag{os.getpid()}-{number}"
        net = 4 * os.getpid() % 256 + number
        self.here, there = _NET.format(net, 1), _NET.format(net, 2)
        self.prefix = ["ip", "netns", "exec", self.name]
        outside, inside = f"a{os.getpid()}-{number}", f"b{os.getpid()}-{number}"
        _ip("netns", "add", self.name)
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", self.name)
        _ip("address", "add", f"{self.here}/30", "dev", outside)
        _ip("link", "set", outside, "up")
        for arguments in (("address", "add", f"{there}/30", "dev", inside), ("link", "set", inside, "up")):
            _ip("-n", self.name, *arguments)
        _ip("-n", self.name, "link", "set", "lo", "up")

    def close(self) -> None:
        _ip("netns", "delete", self.name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
