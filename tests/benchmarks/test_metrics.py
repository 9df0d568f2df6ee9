import pytest

from benchmarks.recall_quality.metrics import (
    any_hit_at,
    bootstrap_interval,
    ndcg_at,
    recall_at,
    reciprocal_rank,
)

RANKING = ["a", "b", "c", "d"]


def test_recall_is_the_share_of_the_evidence_found() -> None:
    assert recall_at(2)(RANKING, {"b", "d"}) == 0.5
    assert recall_at(4)(RANKING, {"b", "d"}) == 1.0


def test_any_hit_is_all_or_nothing() -> None:
    assert any_hit_at(2)(RANKING, {"b", "x"}) == 1.0
    assert any_hit_at(1)(RANKING, {"b"}) == 0.0


def test_reciprocal_rank_looks_at_the_first_evidence() -> None:
    assert reciprocal_rank(RANKING, {"c", "d"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKING, {"x"}) == 0.0


def test_ndcg_is_one_for_the_best_order_and_less_for_any_other() -> None:
    assert ndcg_at(10)(RANKING, {"a", "b"}) == pytest.approx(1.0)
    assert ndcg_at(10)(RANKING, {"c"}) == pytest.approx(0.5)


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 1.0] * 50
    low, high = bootstrap_interval(values)
    assert low < 0.5 < high
    assert (low, high) == bootstrap_interval(values)
