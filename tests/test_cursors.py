"""A cursor goes on where a page ended, with the same question only, and nothing forged in it reaches the database."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.cursors import check_limit, fingerprint, read_cursor, write_cursor
from memoria.errors import InvalidInputError
from memoria.identifiers import MAX_ID
from memoria.records import Filters

ASKED = fingerprint("list", "ns", Filters())


def forge(value: Any) -> str:
    """Write what a client might make up."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@given(st.one_of(st.integers(0, MAX_ID), st.sampled_from(["a", "code/app", "x" * 200])))
def test_a_cursor_reads_back(position: int | str) -> None:
    cursor = write_cursor(position, ASKED)
    assert read_cursor(cursor, ASKED, type(position)) == position
    assert "=" not in cursor


def test_no_cursor_is_the_beginning() -> None:
    assert read_cursor(None, ASKED, int) is None


@pytest.mark.parametrize(
    "question",
    [("list", "other", Filters()), ("list", "ns", Filters(project="p")), ("search", "ns", Filters())],
    ids=["namespace", "filters", "verb"],
)
def test_a_cursor_of_another_question_is_refused(question: tuple[object, ...]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_cursor(write_cursor(5, fingerprint(*question)), ASKED, int)
    assert caught.value.details["field"] == "cursor"


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "!!!!",
        "[]",
        forge([]),
        forge({}),
        forge(5),
        forge(None),
        forge([1]),
        forge([1, 2, 3]),
        forge("ab"),
        forge([True, ASKED]),
        forge([1.5, ASKED]),
        forge([None, ASKED]),
        forge(["1", ASKED]),
        forge([-1, ASKED]),
        forge([2**63, ASKED]),
        forge([10**400, ASKED]),
        forge([1, None]),
        forge({"a": 1, "b": 2}),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
    ids=lambda cursor: cursor[:12],
)
def test_a_forged_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_cursor(cursor, ASKED, int)
    assert caught.value.details["field"] == "cursor"


@pytest.mark.parametrize("name", ["\0", "a\ud800", "a\nb", 5])
def test_a_forged_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidInputError):
        read_cursor(forge([name, ASKED]), ASKED, str)


@pytest.mark.parametrize("limit", [0, -1, 201])
def test_a_page_size_out_of_bounds_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_limit(limit)
    assert caught.value.details == {"field": "limit", "limit": 200}
