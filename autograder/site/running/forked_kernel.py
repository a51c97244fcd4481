"""Kernels forked from a process that has imported what cells need."""

from __future__ import annotations

import os
from multiprocessing.context import ForkServerProcess
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from .fork_server import warm_forks


class ForkedKernel(LocalProvisioner):  # type: ignore[misc]
    """Provisioner that forks a kernel.

    Such a kernel takes 0.5 s of processor time to start and to import torch and matplotlib, another one 3.3 s.
    """

    async def launch_kernel(self, cmd: list[str], *, env: dict[str, str], cwd: str, **more: Any) -> Any:
        warm_forks()
        self.process = _Kernel(cmd[cmd.index("-f") :], env, cwd)
        self.process.start()
        return self.connection_info


class _Kernel(ForkServerProcess):
    """The fork, with what jupyter_client calls of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], environment: dict[str, str], folder: str) -> None:
        super().__init__(daemon=True)
        self._given = arguments, environment, folder

    def run(self) -> None:
        import matplotlib
        from ipykernel.kernelapp import launch_new_instance

        arguments, environment, folder = self._given
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        # A kernel says so in its environment, which matplotlib reads only when it is imported.
        matplotlib.use("module://matplotlib_inline.backend_inline")
        # Without a parent's number a kernel speaks to a terminal.
        launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        assert self.pid
        os.kill(self.pid, number)
