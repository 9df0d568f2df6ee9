"""Whatever does not fit is refused by the name of its field and its limit; what fits is kept as it is."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.errors import ContentTooLargeError, InvalidInputError
from memoria.records import Filters, NewMemory
from memoria.validation import (
    check_filters,
    check_include,
    check_metadata,
    check_query,
    check_time_zone,
    hash_content,
    hash_duplicate,
    normalize_text,
    parse_word,
    validate_memory,
)
from memoria.vocabulary import MemoryType, Source, Tier

NOW = datetime(2026, 5, 1, 9, tzinfo=UTC)
FITS = NewMemory("content")


def nested(depth: int) -> dict[str, Any]:
    """Make objects inside each other, so many in all."""
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


AT_THE_LIMIT: list[tuple[dict[str, Any], dict[str, Any], str, int]] = [
    ({"title": "x" * 300}, {"title": "x" * 301}, "title", 300),
    ({"tags": tuple(map(str, range(50)))}, {"tags": tuple(map(str, range(51)))}, "tags", 50),
    ({"tags": ("x" * 50,)}, {"tags": ("x" * 51,)}, "tags", 50),
    ({"category": "x" * 100}, {"category": "x" * 101}, "category", 100),
    ({"project": "x" * 200}, {"project": "x" * 201}, "project", 200),
    ({"context": {str(n): "" for n in range(32)}}, {"context": {str(n): "" for n in range(33)}}, "context", 32),
    ({"context": {"x" * 100: "v"}}, {"context": {"x" * 101: "v"}}, "context", 100),
    ({"context": {"k": "x" * 500}}, {"context": {"k": "x" * 501}}, "context.k", 500),
    ({"metadata": {"k": "x" * (16384 - 8)}}, {"metadata": {"k": "x" * (16384 - 7)}}, "metadata", 16384),
    ({"metadata": nested(100)}, {"metadata": nested(101)}, "metadata", 100),
    (
        {"related_urls": tuple(f"a.example/{n}" for n in range(50))},
        {"related_urls": tuple(f"a.example/{n}" for n in range(51))},
        "related_urls",
        50,
    ),
    ({"url": "https://a.example/" + "x" * 2030}, {"url": "https://a.example/" + "x" * 2031}, "url", 2048),
]


@pytest.mark.parametrize(("fits", "breaks", "field", "limit"), AT_THE_LIMIT, ids=[case[2] for case in AT_THE_LIMIT])
def test_a_limit_is_kept_and_named(fits: dict[str, Any], breaks: dict[str, Any], field: str, limit: int) -> None:
    validate_memory(replace(FITS, **fits), NOW)
    with pytest.raises(InvalidInputError) as caught:
        validate_memory(replace(FITS, **breaks), NOW)
    assert (caught.value.details["field"], caught.value.details["limit"]) == (field, limit)
    assert str(limit) in caught.value.message


@pytest.mark.parametrize(
    "content", ["x" * 65_537, "é" * 32_769, "x" * 65_536 + "\ud800"], ids=["ascii", "two bytes", "surrogate"]
)
def test_large_content_is_refused_with_both_numbers(content: str) -> None:
    with pytest.raises(ContentTooLargeError) as caught:
        validate_memory(NewMemory(content), NOW)
    details = caught.value.details
    assert details["limit_bytes"] == 65_536
    assert details["size_bytes"] == len(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ContentTooLargeError):
        check_query(content)


@pytest.mark.parametrize("bad", ["\0", "a\0b", "\ud800", "\udfff end"], ids=ascii)
@pytest.mark.parametrize("field", ["content", "title", "category", "project", "url"])
def test_what_postgres_cannot_store_is_refused_by_its_field(field: str, bad: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        validate_memory(replace(FITS, **{field: bad}), NOW)
    assert caught.value.details["field"] == field


@pytest.mark.parametrize("bad", ["\0", "\ud800"], ids=ascii)
def test_what_postgres_cannot_store_is_refused_inside_collections(bad: str) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tags": (bad,)}, "tags"),
        ({"context": {bad: "v"}}, "context"),
        ({"context": {"k": bad}}, "context.k"),
        ({"metadata": {bad: 1}}, "metadata"),
        ({"metadata": {"a": [{"b": bad}]}}, "metadata"),
        ({"related_urls": (f"a.example/{bad}",)}, "related_urls"),
    ]
    for fields, field in cases:
        with pytest.raises(InvalidInputError) as caught:
            validate_memory(replace(FITS, **fields), NOW)
        assert caught.value.details["field"] == field


@pytest.mark.parametrize("field", ["content", "title", "category", "project", "url"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"], ids=ascii)
def test_a_blank_text_is_refused(field: str, blank: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        validate_memory(replace(FITS, **{field: blank}), NOW)
    assert caught.value.details["field"] == field


@pytest.mark.parametrize("field", ["salience", "salience_hint", "confidence"])
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_share_lies_between_0_and_1(field: str, value: float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        validate_memory(replace(FITS, **{field: value}), NOW)
    assert caught.value.details["field"] == field
    for fine in (0, 1, 0.5):
        validate_memory(replace(FITS, **{field: fine}), NOW)


@pytest.mark.parametrize("text", ["semantic", "SEMANTIC", "Semantic"])
def test_words_are_read_in_any_case(text: str) -> None:
    assert parse_word(text, MemoryType, "type") is MemoryType.SEMANTIC


def test_an_unknown_word_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInputError) as caught:
        validate_memory(replace(FITS, type="Fact"), NOW)
    assert caught.value.details["field"] == "type"
    assert caught.value.details["allowed"] == [word.value for word in MemoryType]
    with pytest.raises(InvalidInputError) as caught:
        validate_memory(replace(FITS, source="robot"), NOW)
    assert caught.value.details["field"] == "source"


def test_a_tier_given_as_type_is_an_episode_that_starts_there() -> None:
    for text, tier in (("buffer", Tier.BUFFER), ("Core", Tier.CORE)):
        fields = validate_memory(replace(FITS, type=text, salience=0.9), NOW)
        assert (fields.type, fields.tier) == (MemoryType.EPISODIC, tier)
    with pytest.raises(InvalidInputError):
        validate_memory(replace(FITS, source=Source.SYSTEM), NOW)


def test_tags_and_related_urls_repeat_nothing_and_keep_their_order() -> None:
    fields = validate_memory(
        replace(FITS, tags=("b", "a", "b"), related_urls=("b.example/", "a.example", "https://b.example#x")), NOW
    )
    assert fields.tags == ("b", "a")
    assert fields.related_urls == ("https://b.example", "https://a.example")


@pytest.mark.parametrize(
    "metadata",
    [{"a": "\\u0000"}, {"a": "\\\\u0000 is how JSON writes it"}, {"a": None, "b": [1, {"c": 1e300}]}, {}, {"\\": "\\"}],
)
def test_metadata_that_json_can_say_is_kept(metadata: dict[str, Any]) -> None:
    assert check_metadata(metadata) == metadata


@pytest.mark.parametrize(
    "metadata",
    [[1], "text", {"a": object()}, {"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}],
    ids=["list", "text", "object", "not a number", "set", "bytes"],
)
def test_metadata_that_json_cannot_say_is_refused(metadata: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_metadata(metadata)
    assert caught.value.details["field"] == "metadata"


def test_metadata_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(InvalidInputError):
        check_metadata(loop)


@pytest.mark.parametrize(
    ("one", "other"),
    [("a\r\nb", "a\nb"), ("a\rb", "a\nb"), (" a ", "a"), ("e\u0301", "é"), ("a\n", "a")],
    ids=ascii,
)
def test_texts_that_look_the_same_are_equal(one: str, other: str) -> None:
    assert hash_content(one) == hash_content(other)


def test_texts_that_differ_in_case_or_inner_space_are_not_equal() -> None:
    assert len({hash_content(text) for text in ("a b", "A b", "a  b", "a\nb")}) == 4


@given(st.text())
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


def test_the_scope_of_a_duplicate_is_unambiguous() -> None:
    digest = hash_content("a")
    scopes: list[tuple[str | None, dict[str, str]]] = [
        (None, {}), ("", {}), ("p", {}), (None, {"p": ""}), (None, {"a": "b", "c": "d"}), (None, {"a": "b,c", "": "d"}),
    ]  # fmt: skip
    assert len({hash_duplicate(digest, project, context) for project, context in scopes}) == len(scopes)
    assert hash_duplicate(digest, None, {"a": "1", "b": "2"}) == hash_duplicate(digest, None, {"b": "2", "a": "1"})


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        (Filters(tags_any=("x" * 51,)), "tags_any"),
        (Filters(tags_all=("\0",)), "tags_all"),
        (Filters(tags_none=tuple(map(str, range(51)))), "tags_none"),
        (Filters(category="x" * 101), "category"),
        (Filters(project="\ud800"), "project"),
        (Filters(context={"k": "\0"}), "context.k"),
        (Filters(url="ftp://x"), "url"),
        (Filters(site="\0"), "site"),
        (Filters(salience_min=-1), "salience_min"),
        (Filters(salience_max=float("nan")), "salience_max"),
    ],
)
def test_a_filter_that_can_match_nothing_stored_is_refused_by_its_field(filters: Filters, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_filters(filters)
    assert caught.value.details["field"] == field


def test_filters_are_brought_into_the_stored_form() -> None:
    checked = check_filters(Filters(url="Example.com/a/", site="https://WWW.example.com/"))
    assert (checked.url, checked.site) == ("https://example.com/a", "example.com")
    assert check_filters(checked) == checked


def test_include_names_hidden_kinds_only() -> None:
    assert check_include(["archived", "expired", "archived"]) == ("archived", "expired")
    with pytest.raises(InvalidInputError) as caught:
        check_include(["superseded"])
    assert caught.value.details["field"] == "include"


@pytest.mark.parametrize(
    "name", ["", "Berlin", "europe/berlin", "../etc/passwd", "Europe", "+02:00", "\x00", "x" * 9999]
)
def test_a_time_zone_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        check_time_zone(name)


def test_a_time_zone_is_an_iana_name() -> None:
    assert check_time_zone("America/New_York") == "America/New_York"
