"""Normalise URLs, so that every spelling of a page's address is one address."""

import re
from urllib.parse import urlsplit, urlunsplit

from memoria.errors import InvalidInputError
from memoria.vocabulary import MAX_URL_CHARACTERS

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
DEFAULT_PORTS = {"http": 80, "https": 443}


def normalize_url(text: str, field: str = "url") -> str:
    """Add the scheme https if there is none, lower-case scheme and host, drop fragment, default port, final slash.

    Raises InvalidInputError for what is no http(s) address with a host, or exceeds 2,048 characters with its scheme.
    """
    candidate = text.strip()
    if not SCHEME.match(candidate):
        candidate = "https://" + candidate.removeprefix("//")
    if len(candidate) > MAX_URL_CHARACTERS:
        raise InvalidInputError(
            f"`{field}` is longer than {MAX_URL_CHARACTERS} characters.", field=field, limit=MAX_URL_CHARACTERS
        )
    try:
        parts = urlsplit(candidate)
        port = parts.port
    except ValueError as error:
        raise InvalidInputError(f"`{field}` is not a URL.", field=field) from error
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS or not parts.hostname or re.search(r"[\s\x00-\x1f]", candidate):
        raise InvalidInputError(f"`{field}` must be an http or https URL with a host.", field=field)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user = parts.netloc.rpartition("@")[0]
    place = host if port in (None, DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    netloc = f"{user}@{place}" if user else place
    return urlunsplit((scheme, netloc, parts.path.rstrip("/"), parts.query, ""))


def site_of(url: str) -> str:
    """Return the host of a normalised URL, without `www.`."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def normalize_site(text: str) -> str:
    """Normalise a site given by a client: a host, with or without `www.` or even a whole URL around it."""
    return site_of(normalize_url(text, field="site"))
