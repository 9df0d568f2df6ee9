"""Memories are joined to what stood before and after them in their conversation."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memoria.temporal import Moment, StoredAround, link_in_time
from tests.tenants import START


def at(memory_id: int, minutes: float, session: str | None = "s") -> Moment:
    return Moment(memory_id, session, START + timedelta(minutes=minutes))


def test_a_batch_is_a_chain_in_the_order_of_time() -> None:
    assert link_in_time([at(1, 5), at(2, 0), at(3, 9)], {}, 30) == [(2, 1), (1, 3)]


def test_what_was_sent_first_comes_first_at_the_same_time() -> None:
    assert link_in_time([at(7, 0), at(3, 0), at(5, 0)], {}, 30) == [(7, 3), (3, 5)]


def test_conversations_do_not_mix() -> None:
    links = link_in_time([at(1, 0, "a"), at(2, 1, "b"), at(3, 2, "a"), at(4, 3, None)], {}, 30)
    assert links == [(1, 3)]


def test_without_a_session_half_an_hour_is_the_bound() -> None:
    assert link_in_time([at(1, 0, None), at(2, 30, None), at(3, 60.1, None)], {}, 30) == [(1, 2)]
    assert link_in_time([at(1, 0), at(2, 1000)], {}, 30) == [(1, 2)]


def test_a_late_comer_is_joined_on_both_sides() -> None:
    around = {5: StoredAround(before=at(1, 0), after=at(9, 20))}
    assert link_in_time([at(5, 10)], around, 30) == [(1, 5), (5, 9)]


def test_the_nearer_of_stored_and_new_is_joined() -> None:
    around = {5: StoredAround(before=at(1, 0), after=at(9, 20)), 6: StoredAround(before=at(1, 0), after=at(9, 20))}
    assert link_in_time([at(5, 10), at(6, 12)], around, 30) == [(1, 5), (5, 6), (6, 9)]


@given(st.lists(st.tuples(st.integers(0, 500), st.sampled_from(["a", "b", None])), max_size=12))
def test_each_memory_has_at_most_one_predecessor_and_never_itself(drawn: list[tuple[int, str | None]]) -> None:
    moments = [at(number, minutes, session) for number, (minutes, session) in enumerate(drawn)]
    links = link_in_time(moments, {}, 30)
    times = {moment.memory_id: moment for moment in moments}
    assert len({later for _, later in links}) == len(links)
    for earlier, later in links:
        assert earlier != later
        assert times[earlier].occurred_at <= times[later].occurred_at
        assert times[earlier].session == times[later].session
