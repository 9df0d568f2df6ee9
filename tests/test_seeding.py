import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memoria.seeding import _highest

# Few values, so that many are equal.
scores = st.lists(st.integers(0, 9).map(float), max_size=200)


@given(scores, st.integers(1, 60))
def test_the_highest_scores_are_those_of_a_whole_stable_sort(values: list[float], count: int) -> None:
    array = np.array(values, np.float64)
    assert _highest(array, count).tolist() == np.argsort(-array, kind="stable")[:count].tolist()
