"""Every spelling of a page's address is one address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.errors import InvalidInputError
from memoria.urls import normalize_site, normalize_url, site_of
from memoria.vocabulary import MAX_URL_CHARACTERS


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("example.com", "https://example.com"),
        ("  HTTPS://Example.COM/Path/#top  ", "https://example.com/Path"),
        ("http://example.com:80/", "http://example.com"),
        ("https://example.com:443/a/", "https://example.com/a"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("localhost:8080/x", "https://localhost:8080/x"),
        ("//cdn.example.com/a", "https://cdn.example.com/a"),
        ("https://example.com/?q=A&b=/", "https://example.com?q=A&b=/"),
        ("https://user:Pass@Example.com/", "https://user:Pass@example.com"),
        ("http://[2001:DB8::1]:8080/a/", "http://[2001:db8::1]:8080/a"),
        ("https://bücher.example/ü", "https://bücher.example/ü"),
    ],
)
def test_spellings_of_an_address_are_one(text: str, normal: str) -> None:
    assert normalize_url(text) == normal
    assert normalize_url(normal) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "https://",
        "ftp://example.com",
        "file:///etc/passwd",
        "javascript://x/%0aalert(1)",
        "https://a b.example",
        "http://[::1",
        "http://a.example:99999",
        "https://a.example/\nx",
        "javascript:alert(1)",
    ],
)
def test_what_is_no_web_address_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        normalize_url(text, field="related_urls")
    assert caught.value.details["field"] == "related_urls"


def test_a_long_address_is_refused_with_its_limit() -> None:
    room = MAX_URL_CHARACTERS - len("https://a.example/")
    assert len(normalize_url("a.example/" + "x" * room)) == MAX_URL_CHARACTERS
    for text in ("a.example/" + "x" * (room + 1), "https://a.example/" + "x" * (room + 1)):
        with pytest.raises(InvalidInputError) as caught:
            normalize_url(text)
        assert caught.value.details["limit"] == MAX_URL_CHARACTERS


@given(st.text(alphabet="aB.:/?#[]@%-_é1\t ", max_size=30))
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    try:
        normal = normalize_url(text)
    except InvalidInputError:
        return
    assert normalize_url(normal) == normal
    assert site_of(normal)


def test_a_site_is_the_host_without_www() -> None:
    assert site_of(normalize_url("https://www.Example.com:8080/a")) == "example.com"
    assert normalize_site("WWW.example.com") == normalize_site("https://example.com/a/b") == "example.com"
