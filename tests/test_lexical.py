import struct

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.lexical import POSTING, bm25_scores, query_terms, term_hash, terms
from memoria.vocabulary import BM25_B, BM25_K1

COMPOUNDS = [
    "auth_flow",
    "x-memoria-namespace",
    "/v1/mcp",
    "getUserName",
    "550e8400-e29b-41d4-a716-446655440000",
    "C++",
    "C#",
    "user@example.com",
    "1.2.3",
    "🎉",
    "❤️",
]


def packed(term: str, documents: list[dict[str, int]]) -> bytes:
    return b"".join(
        struct.pack(">qhi", position, document[term], sum(document.values()))
        for position, document in enumerate(documents)
        if term in document
    )


@pytest.mark.parametrize("word", COMPOUNDS)
def test_a_compound_or_symbol_is_found_by_itself(word: str) -> None:
    assert set(query_terms(word)) <= set(terms(f"The log said {word} twice."))
    assert query_terms(word)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("flow", "the auth_flow of the site"),
        ("namespace", "send x-memoria-namespace"),
        ("mcp", "POST /v1/mcp"),
        ("user name", "getUserName()"),
        ("email", "an e-mail came"),
        ("straße", "in der STRASSE"),
        ("cafe", "un café au lait"),
        ("ﬁnance", "the finances"),
        ("Caroline", "Caroline’s painting"),
        ("homme", "l'homme est là"),
        ("Haus", "Die Häuser in Berlin sind schön und nicht teuer"),
        ("chevaux", "les chevaux sont dans le pré"),
        ("caballo", "los caballos están en el campo"),
        ("книга", "я читаю книги"),
        ("ספר", "קניתי את הספרים בחנות"),
        ("בית", "הייתי בבית"),
        ("المكتبة", "ذهبت إلى مكتبة"),
        ("猫", "私の猫は黒い"),
        ("天安门", "我爱北京天安门"),
        ("서울", "서울에서 만나요"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
        ("กรุงเทพ", "ฉันอยู่ที่กรุงเทพ"),
    ],
)
def test_a_word_is_found_in_its_language(query: str, text: str) -> None:
    assert set(query_terms(query)) & set(terms(text))


def test_question_words_are_left_out() -> None:
    assert set(query_terms("What did you say about the painting?")) == {"say", "paint"}


@pytest.mark.parametrize("query", ["what did you do", "Who?", "was ist das", "מה"])
def test_a_query_of_stop_words_alone_keeps_them(query: str) -> None:
    assert query_terms(query)


def test_the_forms_of_a_word_share_its_weight() -> None:
    weights = query_terms("Wo sind die Häuser und der Hund")
    assert weights["haus"] == weights["hauser"] == 0.5
    assert weights["hund"] == 1.0


def test_hashes_are_stable_signed_and_small() -> None:
    assert term_hash("paint") == 1_467_646_999
    assert all(-(2**31) <= term_hash(str(number)) < 2**31 for number in range(1000))


def test_a_posting_is_14_bytes_big_endian() -> None:
    record = np.frombuffer(struct.pack(">qhi", 2**40, 3, 70_000), POSTING)[0]
    assert (record["memory_id"], record["tf"], record["dl"]) == (2**40, 3, 70_000)


def test_scores_equal_the_reference_implementation() -> None:
    texts = [
        "Caroline went to the support group on Sunday",
        "Melanie painted a sunrise last year, and a lake, and a sunrise again",
        "the group met; the group sang; the group left",
        "nothing to see",
    ]
    query = ["group", "sunris", "carolin", "zebra"]
    documents = [dict(terms(text)) for text in texts]
    tokens = [[term for term, count in document.items() for _ in range(count)] for document in documents]
    reference = bm25s.BM25(method="lucene", k1=BM25_K1, b=BM25_B, dtype="float64")
    reference.index(tokens, show_progress=False)
    expected = reference.get_scores([term for term in query if term != "zebra"])
    found = bm25_scores([packed(term, documents) for term in query], len(documents), sum(map(len, tokens)))
    dense = np.zeros(len(documents))
    dense[found.memory_ids] = found.scores
    np.testing.assert_allclose(dense, expected, atol=1e-6)


def test_no_postings_score_nothing() -> None:
    found = bm25_scores([], 10, 100)
    assert found.memory_ids.dtype == np.int64
    assert len(found.memory_ids) == len(found.scores) == len(found.coverages) == 0


def test_a_weight_scales_its_terms_part() -> None:
    run = struct.pack(">qhi", 7, 1, 10)
    full = bm25_scores([run], 5, 50).scores
    half = bm25_scores([run], 5, 50, [0.5]).scores
    np.testing.assert_allclose(half, full / 2)


def test_coverage_is_the_share_of_the_querys_idf_that_a_memory_holds() -> None:
    first, second = (struct.pack(">qhi", number, 1, 10) for number in (7, 8))
    both = bm25_scores([first + second, first], 5, 50)
    assert both.coverages[0] == pytest.approx(1.0)
    assert 0 < both.coverages[1] < 0.5  # it holds the commoner of two terms
    with_unknown = bm25_scores([first + second, first], 5, 50, unknown_weight=1.0)
    assert (with_unknown.coverages < both.coverages).all()


def test_scores_stay_finite_when_the_counts_lag_behind() -> None:
    run = b"".join(struct.pack(">qhi", number, 1, 10) for number in range(20))
    assert np.isfinite(bm25_scores([run], 3, 0).scores).all()


@given(st.text(max_size=200))
def test_any_text_finds_itself(text: str) -> None:
    found = set(query_terms(text))
    assert found <= set(terms(text))
    assert bool(found) == bool(terms(text))


@given(st.text(max_size=60))
def test_capitals_and_composition_do_not_matter(text: str) -> None:
    word = "Zoë " + text
    assert "zoe" in terms(word)
    assert terms(word) == terms(word)
