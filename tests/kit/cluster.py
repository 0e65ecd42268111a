"""A local Spark standalone cluster: a master and workers, each in its own process group."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from kit.polling import eventually
from millrace.environment.java import java_executable
from millrace.local.process.ports import HOST, stable_port

_SPARK = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """A running cluster.

    Args:
        folder: working folder and log folder of its processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = stable_port()
        self.url = f"spark://{HOST}:{self._port}"
        self._master = self._start("master", f"{_DEPLOY}.master.Master", f"--port={self._port}")
        eventually(self._answers, 60, "the master answers")
        self.workers: list[subprocess.Popen[bytes]] = []

    def add_worker(self) -> None:
        """Start a worker with one core, and wait until it is registered."""
        name = f"worker-{len(self.workers) + 1}"
        work = f"--work-dir={self._folder / name}"
        worker = self._start(name, f"{_DEPLOY}.worker.Worker", "--cores=1", "--memory=2g", work, self.url)
        self.workers.append(worker)
        log = self._folder / f"{name}.log"
        eventually(lambda: "Successfully registered" in log.read_text(), 60, f"{name} is registered")

    def executors(self, worker: int) -> list[Path]:
        """Folders of the executors of a worker."""
        return list((self._folder / f"worker-{worker + 1}").glob("app-*/*"))

    def kill_worker(self, worker: int) -> None:
        """Kill a worker and its executors."""
        _kill(self.workers[worker])

    def end(self) -> None:
        """Kill all processes."""
        for process in (*self.workers, self._master):
            _kill(process)

    def _start(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        words = [part for argument in arguments for part in argument.split("=")]
        command = [str(_SPARK / "bin" / "spark-class"), main, "--host", HOST, "--webui-port", "0", *words]
        java_home = java_executable().resolve().parents[1]
        env = {
            **os.environ,
            "JAVA_HOME": str(java_home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "512m",
        }
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)

    def _answers(self) -> bool:
        with suppress(OSError):
            socket.create_connection((HOST, self._port), timeout=1).close()
            return True
        return False


@contextmanager
def running_cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Run a cluster until the block ends."""
    cluster = Cluster(folder)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.end()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
