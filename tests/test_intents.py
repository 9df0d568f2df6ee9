import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.intents import author_of, intent_of, named_authors
from memoria.vocabulary import Intent


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("Why did the deploy fail?", Intent.CAUSAL),
        ("What was the root cause of the outage?", Intent.CAUSAL),
        ("Warum ist der Server langsam?", Intent.CAUSAL),
        ("למה נפל השרת?", Intent.CAUSAL),
        ("How do I rotate the keys?", Intent.PROCEDURAL),
        ("steps to restore a backup", Intent.PROCEDURAL),
        ("Wie kann ich das Passwort ändern?", Intent.PROCEDURAL),
        ("What is the latest version of the API?", Intent.TEMPORAL),
        ("Who is currently on call?", Intent.TEMPORAL),
        ("When did Caroline go to the support group?", Intent.FACTUAL),
        ("What is Caroline's identity", Intent.FACTUAL),
        ("Is Melanie married?", Intent.FACTUAL),
        ("How many children does she have?", Intent.FACTUAL),
        ("Quelle est sa couleur préférée ?", Intent.FACTUAL),
        ("deploy window", Intent.GENERAL),
        ("I was in Paris", Intent.GENERAL),
        ("Thanks, that helps. What should we do next?", Intent.GENERAL),
        ("", Intent.GENERAL),
        ("🎉", Intent.GENERAL),
    ],
)
def test_intent_is_read_off_the_words(query: str, intent: Intent) -> None:
    assert intent_of(query) is intent


@given(st.text(max_size=300))
def test_any_query_has_an_intent(query: str) -> None:
    assert intent_of(query) in Intent


@pytest.mark.parametrize(
    ("content", "context", "author"),
    [
        ("Caroline: I went to the group", {}, "Caroline"),
        ("Dr. Mary-Ann O'Neill: hello", {}, "Dr. Mary-Ann O'Neill"),
        ("I went to the group", {"speaker": "Melanie"}, "Melanie"),
        ("Caroline: hello", {"speaker": "Mel"}, "Mel"),
        ("https://example.com: down", {}, None),
        ("12:30 lunch", {}, None),
        ("We deploy on Fridays", {}, None),
        ("", {}, None),
    ],
)
def test_the_author_stands_in_the_context_or_before_the_text(
    content: str, context: dict[str, str], author: str | None
) -> None:
    assert author_of(content, context) == author


def test_a_named_author_is_recognised_in_a_possessive() -> None:
    assert named_authors("What is Caroline's job?", ["Caroline"] * 3 + ["Melanie", None]) == [
        *(True, True, True),
        *(False, False),
    ]


def test_a_heading_that_few_memories_share_is_no_author() -> None:
    assert named_authors("what is step four", ["Step four", "Step four"]) == [False, False]


@given(st.text(max_size=100), st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=10))
def test_any_query_and_authors_are_safe(query: str, authors: list[str | None]) -> None:
    assert len(named_authors(query, authors)) == len(authors)
