"""Serve the application with uvicorn: in this process, or in several that end with it."""

import ctypes
import os
import signal
import socket
from collections.abc import Callable
from functools import partial

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from server.app import create_app
from server.metrics import serve_summed_metrics
from server.settings import Settings

_KEEP_ALIVE_SECONDS = 75
_DRAIN_SECONDS = 10
_SET_PARENT_DEATH_SIGNAL = 1


def serve(settings: Settings, listener: socket.socket, announce: Callable[[], None]) -> int:
    """Serve until a signal says to stop; return the exit code. `announce` is called when requests are answered."""
    if settings.processes > 1:
        return _serve_in_processes(settings, listener, announce)
    server = _AnnouncingServer(_configuration(partial(create_app, settings)), announce)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        # uvicorn raises the signal once more after it has drained the requests.
        return 0
    return 0 if server.started else 1


class _AnnouncingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()


def _serve_in_processes(settings: Settings, listener: socket.socket, announce: Callable[[], None]) -> int:
    application = partial(_create_app_in_child, settings, os.getpid())
    configuration = _configuration(application, processes=settings.processes)
    with serve_summed_metrics(settings.host, settings.metrics_port):
        supervisor = Multiprocess(configuration, sockets=[listener])
        announce()
        supervisor.run()
    return 0


def _configuration(application: Callable[[], ASGIApp], processes: int = 1) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        factory=True,
        workers=processes,
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )


def _create_app_in_child(settings: Settings, parent: int) -> ASGIApp:
    # A child that outlived a killed parent would keep the port; the kernel tells it to end instead.
    ctypes.CDLL(None, use_errno=True).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(1)
    return create_app(settings)
