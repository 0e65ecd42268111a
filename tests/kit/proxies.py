"""Runs the proxies that people put in front of servers."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.home import ROOT
from kit.polling import eventually
from kit.programs import required
from kit.running_dashboard import answers
from millrace.local.process.ports import is_free, stable_port

_PUBLIC, _NODES = 8788, (8781, 8782)
_UP_SECONDS = 30
_NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://127.0.0.1:{target}; }}
    }}
}}
"""


@contextmanager
def haproxy(name: str, folder: Path, nodes: tuple[int, int], path: str) -> Iterator[int]:
    """Run HAProxy with a shipped configuration in front of two nodes. Yields its port.

    Args:
        name: of the file in `proxies/`, without its ending.
        folder: of its files.
        nodes: ports of the nodes.
        path: that a node answers with 200 when it is ready.
    """
    port, text = stable_port(), (ROOT / "proxies" / f"{name}.haproxy.cfg").read_text()
    for before, after in zip((_PUBLIC, *_NODES), (port, *nodes), strict=True):
        assert f":{before}" in text
        text = text.replace(f":{before}", f":{after}")
    file = folder / "haproxy.cfg"
    file.write_text(text)
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([required("haproxy"), "-db", "-f", str(file)], stdout=log, stderr=log)
        try:
            eventually(lambda: answers(f"http://127.0.0.1:{port}{path}"), _UP_SECONDS, "HAProxy answers")
            yield port
        finally:
            process.terminate()
            process.wait()


@contextmanager
def nginx(folder: Path, target: int) -> Iterator[int]:
    """Run nginx in front of a port, with the least configuration: it adds no header. Yields its port."""
    port, file = stable_port(), folder / "nginx.conf"
    file.write_text(_NGINX.format(folder=folder, port=port, target=target))
    process = subprocess.Popen([required("nginx"), "-e", str(folder / "nginx-error.log"), "-c", str(file)])
    try:
        eventually(lambda: process.poll() is not None or not is_free(port), _UP_SECONDS, "nginx listens")
        assert process.poll() is None, (folder / "nginx-error.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait()
