"""A summary quotes, an outline quotes, and what a language model wrote must say no more."""

import pytest

from memoria.summaries import outline, says_only, sentences_of, shorten, summarize
from memoria.vocabulary import EPISODE_CHARACTERS, SUMMARY_CHARACTERS

TEXTS = ("We deploy the shop on Fridays after 2pm.", "The shop is deployed on Fridays after 2pm", "Fridays, after 2pm")


def test_a_summary_quotes_one_member_whole() -> None:
    summary = summarize(TEXTS, 1)
    assert (summary.text, summary.quoted, summary.is_quote) == (TEXTS[1], 1, True)


def test_a_sentence_that_adds_something_is_quoted_after_it() -> None:
    added = f"{TEXTS[0]} Grace approves each release in the morning."
    summary = summarize((TEXTS[0], added, TEXTS[2]), 0)
    assert summary.text == f"{TEXTS[0]}\nGrace approves each release in the morning."
    assert not summary.is_quote


def test_a_number_that_only_one_member_gives_is_kept() -> None:
    assert "build 7781" in summarize((TEXTS[0], "We deploy the shop on Fridays, as build 7781"), 0).text


def test_each_sentence_of_a_summary_stands_in_a_member() -> None:
    texts = [f"Line {number} says heron and valve {number * 7}. Ada wrote part {number}." for number in range(40)]
    summary = summarize(texts, 3)
    known = {sentence for text in texts for sentence in sentences_of(text)}
    assert set(sentences_of(summary.text)) <= known
    assert len(summary.text) <= SUMMARY_CHARACTERS


def test_a_long_member_is_never_cut() -> None:
    long = "The heron flies. " * 500
    assert summarize((long, "The heron flies."), 0).text == long.strip()


def test_an_outline_quotes_the_opening_and_what_most_touch_on_in_their_order() -> None:
    texts = (
        "The release broke the card payments.",
        "Hello!",
        "Card payments fail with a timeout of the gateway.",
        "Lunch was good.",
        "The gateway timeout was raised and card payments work.",
    )
    written = outline(texts)
    assert written.title == texts[0]
    lines = written.text.splitlines()
    assert lines[0] == texts[0]
    assert [line for line in texts if line in lines] == lines
    assert {texts[2], texts[4]} <= set(lines)


def test_an_outline_is_short_and_quotes_whole_sentences() -> None:
    texts = [
        f"Turn {number} of the talk about herons, valves and the pressure of pipe {number}." for number in range(50)
    ]
    written = outline(texts)
    assert len(written.text) <= EPISODE_CHARACTERS
    assert set(written.text.splitlines()) <= set(texts)
    endless = outline(["heron " * 1000, "a", "b"])
    assert len(endless.text) <= EPISODE_CHARACTERS
    assert len(endless.title) <= 120


def test_what_is_cut_is_marked() -> None:
    assert shorten("one two three", 9) == "one two…"
    assert shorten("one two", 9) == "one two"
    assert len(shorten("x" * 50, 9)) == 9


@pytest.mark.parametrize(
    "written",
    [
        "We deploy the shop on Fridays after 2pm.",
        "The shop is deployed on Fridays after 2pm",
        "On Fridays the shop is deployed, after 2pm.",
    ],
)
def test_what_keeps_to_the_members_is_accepted(written: str) -> None:
    assert says_only(written, TEXTS)


@pytest.mark.parametrize(
    "written",
    [
        "We deploy the shop on Thursdays after 2pm.",
        "We deploy the shop on Fridays after 3pm.",
        "Bob deploys the shop on Fridays after 2pm.",
        "We deploy the shop on Fridays after 2pm in Berlin.",
        "We never deploy the shop on Fridays after 2pm.",
        "Excellent engineering teams understand continuous delivery deeply.",
        "As an AI, I cannot help with that",
        "",
    ],
)
def test_what_says_more_or_something_else_is_refused(written: str) -> None:
    assert not says_only(written, TEXTS)
