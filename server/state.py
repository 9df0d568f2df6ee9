"""Find what belongs to the application and to the request in an ASGI scope."""

from typing import Any

from starlette.types import Scope

from server.services import Services


def services_of(scope: Scope) -> Services:
    """Find the opened parts of the application."""
    services: Services = scope["app"].state.services
    return services


def state_of(scope: Scope) -> dict[str, Any]:
    """Find the request's own state: `request_id`, `route`, and once known `principal`, `found_key`, `allowance`."""
    state: dict[str, Any] = scope.setdefault("state", {})
    return state
