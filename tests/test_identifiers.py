"""Ids rise with time, never repeat, and read back from their public form alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.errors import NotFoundError
from memoria.identifiers import EPOCH, MAX_ID, IdMaker, format_id, parse_id
from tests.tenants import Clock


def test_ids_rise_though_the_clock_stands_still_or_goes_back() -> None:
    clock = Clock(datetime(2026, 5, 1, tzinfo=UTC))
    maker = IdMaker(clock)
    ids = [maker.next() for _ in range(1000)]
    clock.advance(seconds=-10)
    ids += [maker.next() for _ in range(1000)]
    clock.advance(seconds=20)
    ids.append(maker.next())
    assert ids == sorted(set(ids))
    assert ids[-1] >> 22 == int((clock.now - EPOCH).total_seconds() * 1000)


def test_two_processes_draw_different_ids_in_the_same_millisecond() -> None:
    clock = Clock()
    assert len({IdMaker(clock).next() for _ in range(200)}) > 190


def test_ids_fit_the_column_for_decades() -> None:
    assert IdMaker(Clock(datetime(2090, 1, 1, tzinfo=UTC))).next() <= MAX_ID


@given(st.integers(0, MAX_ID))
def test_the_public_form_reads_back(value: int) -> None:
    text = format_id(value)
    assert parse_id(text) == value
    assert text.startswith("mem_")
    assert len(text) == 17


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mem_",
        "0000000000000",
        "mem_000000000000",
        "mem_00000000000000",
        "MEM_0000000000000",
        "mem_000000000000O",
        "mem_00000000000-1",
        "mem_zzzzzzzzzzzzz",
        "mem_000000000000\n",
        "mem_٠000000000000",
        "x" * 10_000,
    ],
)
def test_what_is_no_id_is_not_found(text: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        parse_id(text)
    assert len(str(caught.value.details["id"])) <= 64
