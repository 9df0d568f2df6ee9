"""A call names its namespace, or its key does, or it is the organization's own; the key's bounds hold for each."""

from uuid import uuid4

import pytest

from memoria.errors import ForbiddenError, InvalidInputError
from memoria.namespaces import may_use, require_scope, resolve_namespace
from memoria.records import Principal
from memoria.vocabulary import Scope

OWN = "org:ann-00aa11"


def principal(*patterns: str, default: str | None = None) -> Principal:
    return Principal(uuid4(), OWN, namespace_patterns=patterns, default_namespace=default)


def test_the_requested_comes_before_the_default_before_the_own() -> None:
    assert resolve_namespace(principal(default="d"), "code/x") == "code/x"
    assert resolve_namespace(principal(default="d"), None) == "d"
    assert resolve_namespace(principal(), None) == OWN


@pytest.mark.parametrize(
    "name", ["org:other-00aa11", "org:", "org:ann-00aa1", OWN + "x", "ORG:other-00aa11", OWN.upper()]
)
def test_only_ones_own_organization_namespace_is_open(name: str) -> None:
    assert not may_use(principal(), name)
    assert not may_use(principal("*"), name)
    assert not may_use(principal("org:*"), name)
    with pytest.raises(ForbiddenError) as caught:
        resolve_namespace(principal(), name)
    assert caught.value.details["namespace"] == name


@pytest.mark.parametrize(
    ("patterns", "name", "allowed"),
    [
        ((), "anything", True),
        (("a",), "a", True),
        (("a",), "ab", False),
        (("a*",), "ab", True),
        (("a/*",), "a", False),
        (("a/*", "b"), "b", True),
        (("*",), "x", True),
        (("A",), "a", False),
        (("a*b",), "axb", False),
    ],
)
def test_patterns_are_exact_names_or_prefixes(patterns: tuple[str, ...], name: str, allowed: bool) -> None:
    assert may_use(principal(*patterns), name) is allowed


@pytest.mark.parametrize("name", ["code/my-app", "user:ann@example.com", "a", "0", "a" * 200, "a.b_c~d:e/f@g+h-i"])
def test_a_well_formed_name_is_kept(name: str) -> None:
    assert resolve_namespace(principal(), name) == name


@pytest.mark.parametrize("name", ["", "a b", ".a", "/a", "a\n", "é", "a" * 201, "a*", "a\0"], ids=ascii)
def test_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        resolve_namespace(principal(), name)
    assert caught.value.details == {"field": "namespace", "limit": 200}


def test_a_missing_scope_is_named() -> None:
    with pytest.raises(ForbiddenError) as caught:
        require_scope(Principal(uuid4(), OWN, scopes=frozenset({Scope.READ})), Scope.WRITE)
    assert caught.value.details == {"scope": "write"}
