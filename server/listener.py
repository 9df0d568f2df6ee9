"""Take the server's port, before anything else is started."""

import socket

from accounts.environment import SettingsError

_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Listen on the address before anything else is started; raise `SettingsError` when that is not possible.

    Connections that arrive before the application is ready wait for it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        message = f"PORT {port} on HOST {host} is not free ({error.strerror}): set PORT to another one."
        raise SettingsError(message) from error
    return listener
