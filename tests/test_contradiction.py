"""Compare statements: what agrees, what differs, what has changed, and what has nothing to do with each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.contradiction import Verdict, judge, values_agree
from memoria.wording import key_of


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We deploy on Fridays", "We deploy on Thursdays now"),
        ("The staging database is MySQL", "The staging database is now Postgres"),
        ("Ada Lovelace works at Initech in Berlin", "Ada Lovelace no longer works at Initech in Berlin"),
        ("The weekly meeting takes place in room 12", "The weekly meeting was moved to room 14"),
        ("אנחנו מעלים גרסה ביום שישי", "עכשיו אנחנו מעלים גרסה ביום חמישי"),
        ("דנה גרה בחיפה", "דנה עברה לתל אביב"),
        ("We use MySQL", "We no longer use MySQL"),
        ("Ada lives in Paris", "Ada moved to Berlin"),
        ("I use Emacs", "I switched to Vim"),
        ("I'm vegetarian", "I'm not vegetarian anymore"),
        ("Our office is in Leeds", "Our office moved to York"),
        ("My favourite colour is blue", "My favorite color is green now"),
        ("The standup is at 10:00", "Update: the standup moved to 9:30"),
    ],
)
def test_a_stated_change_is_a_change(older: str, newer: str) -> None:
    assert judge(older, newer, 0.8) is Verdict.CHANGES


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We deploy on Fridays", "We deploy on Thursdays"),
        ("The request limit is 60 per minute", "The request limit is 90 per minute"),
        ("Tests run on Python 3.11", "Tests run on Python 3.12"),
        ("The invoice service retries three times", "The invoice service retries five times"),
        ("The lamp in the hall is red", "The lamp in the hall is blue"),
        ("The parser is maintained by Grace Hopper", "The parser is maintained by Ada Lovelace"),
        ("The cache is shared between tenants", "The cache is not shared between tenants"),
        ("Grace Hopper reviews what Ada Lovelace writes", "Ada Lovelace reviews what Grace Hopper writes"),
        ("The export runs daily at noon", "The export runs weekly at noon"),
    ],
)
def test_another_value_for_the_same_thing_differs(older: str, newer: str) -> None:
    assert judge(older, newer, 0.85) is Verdict.DIFFER
    assert not values_agree(older, newer)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user prefers dark mode", "The user likes dark mode"),
        ("The user prefers dark mode.", "the user prefers dark mode"),
        ("The request limit is sixty per minute", "The request limit is 60 per minute"),
        ("Deploys happen on Fridays", "The deploys happen on Friday"),
        ("A small house", "A little house"),
    ],
)
def test_the_same_in_other_words_agrees(first: str, second: str) -> None:
    assert values_agree(first, second)
    assert values_agree(second, first)
    assert judge(first, second, 0.95) in (Verdict.AGREE, Verdict.UNRELATED)


@pytest.mark.parametrize(
    ("older", "newer", "cosine"),
    [
        ("We deploy on Fridays", "Lunch is at noon on Tuesdays", 0.2),
        ("Ada plays the cello", "The build fails on Windows", 0.1),
        ("Do we deploy on Fridays?", "Do we deploy on Thursdays?", 0.8),
        ("Gina: Thanks, you are great!", "Gina: Thanks, you are not great!", 0.8),
        ("The invoice service retries three times", "The mail service sends five letters", 0.5),
        ("deploy of the shop", "deploy of the bank", 0.8),
        ("The cat eats potatoes", "The cat eats vegetables", 0.9),
        ("Grace is a nurse", "Ada is a nurse", 0.8),
        ("Grace Hopper works at Initech", "Ada Lovelace works at Initech", 0.8),
        ("Ada Lovelace likes jazz", "Ada Lovelace likes rock", 0.8),
        ("Ada visited Paris", "Ada visited Rome", 0.8),
        ("The staging port is 8080", "The production port is 9090", 0.9),
        ("My mother lives in Rome", "My father lives in Milan", 0.8),
        ("I ran 5 km today", "I ran 8 km yesterday", 0.9),
        ("I like tea", "You like coffee", 0.8),
        ("Gina: I live in Rome.", "John: I live in Milan.", 0.8),
    ],
)
def test_what_is_about_something_else_or_only_speech_is_left_alone(older: str, newer: str, cosine: float) -> None:
    assert judge(older, newer, cosine) in (Verdict.AGREE, Verdict.UNRELATED)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Deploy 412 was rolled back", "Deploy 413 was rolled back"),
        ("deploy of the service, run 3", "deploy of the service, run 4"),
        ("Budget item 3: chairs", "Budget item 4: chairs"),
    ],
)
def test_numbers_that_name_a_thing_are_no_values_of_it(first: str, second: str) -> None:
    assert judge(first, second, 0.95) is Verdict.UNRELATED
    assert not values_agree(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("We use C++ here", "We use C# here"),
        ("The balance is -5", "The balance is 5"),
        ("It costs $5", "It costs €5"),
        ("Load rose by 5%", "Load rose by 5"),
        ("x > 5", "x < 5"),
        ("x = 5", "x != 5"),
        ("Ada voted 👍", "Ada voted 👎"),
        ("The key is in hunter2", "The key is in Hunter2"),
        ("We moved to Leeds", "They moved to Leeds"),
        ("I like tea", "You like tea"),
        ("He is the owner", "She is the owner"),
        ("He lent her the car", "She lent him the car"),
        ("The cat chases the dog", "The dog chases the cat"),
        ("Some tests pass", "All tests pass"),
        ("We will deploy on Friday", "We might deploy on Friday"),
        ("The fault was in the parser", "The fault is in the parser"),
        ("Do we deploy on Fridays?", "We deploy on Fridays."),
        ("Deploy on Friday!", "Deploy on Thursday!"),
        ("The lights are on", "The lights are off"),
        ("The key is in the drawer", "The key is on the drawer"),
        ("Open until 5pm", "Open until 5am"),
        ("Gina: It rains.", "John: It rains."),
        ("Мы выпускаем в пятницу", "Мы выпускаем в четверг"),
        ("我喜欢茶", "我喜欢咖啡"),
    ],
)
def test_what_differs_in_anything_that_counts_is_never_taken_for_the_same(first: str, second: str) -> None:
    assert not values_agree(first, second)
    assert not values_agree(second, first)


def test_a_long_text_is_no_single_statement() -> None:
    text = "The service has a limit of 60 requests. " * 20
    assert judge(text, text.replace("60", "90"), 0.99) is Verdict.UNRELATED


def test_a_longer_statement_that_only_adds_does_not_contradict() -> None:
    assert judge("We deploy on Fridays", "We deploy on Fridays after lunch", 0.9) is not Verdict.DIFFER


@given(st.text(max_size=200), st.text(max_size=200), st.floats(-1, 1))
def test_any_two_texts_can_be_compared(first: str, second: str, cosine: float) -> None:
    assert judge(first, second, cosine) in Verdict
    assert values_agree(first, second) == values_agree(second, first)
    assert values_agree(first, first)


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("7", "7"),
        ("seven", "7"),
        ("3rd", "3."),
        ("third", "3."),
        ("1,000", "1000"),
        ("3.12", "3.12"),
        ("10ms", "10ms"),
        ("-5", "-5"),
        ("fridays", "friday"),
        ("fri", "friday"),
        ("deployed", "deploy"),
        ("בחמישי", "חמישי"),
    ],
)
def test_inflections_and_spellings_of_a_value_have_one_key(word: str, key: str) -> None:
    assert key_of(word) == key
