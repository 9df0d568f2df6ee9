"""Phrases are found by whole words and their stems, in any script."""

import pytest

from memoria.phrases import Spoken, read_phrase


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("art", "She loves the arts."),
        ("deploy", "We are deploying now"),
        ("Deploy Key", "rotate the deploy keys"),
        ("on call", "Who is on call tonight?"),
        ("e-mail", "send him an email"),
        ("email", "no more e-mails please"),
        ("userId", "the user id is missing"),
        ("user id", "the userId is missing"),
        ("C++", "written in C++ mostly"),
        ("café", "a cafe nearby"),
        ("ｄｅｐｌｏｙ", "deploy it"),
        ("don't", "Don’t do that"),
        ("Bereitstellungen", "Die Bereitstellung ist für den Freitag geplant"),
        ("сервер", "проверь серверы в пятницу"),
        ("ספר", "קראתי את הספרים"),
        ("部署", "我们星期五部署服务"),
        ("デプロイ", "金曜日にデプロイします"),
        ("배포", "금요일에 배포는 없다"),
        ("🚀", "ship it 🚀"),
        ("node.js 20", "we use Node.js 20 here"),
    ],
)
def test_a_phrase_is_found(phrase: str, text: str) -> None:
    assert Spoken(text).holds(phrase)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("art", "We start the party"),
        ("cat", "concatenate the category"),
        ("deploy key", "the key is for the deploy"),
        ("deploy key", "deploy the key"),
        ("C", "written in C++"),
        ("C++", "the C language"),
        ("e-mail", "mail it"),
        ("部署", "服务的部门签署了"),
        ("אב", "אביב הגיע"),
        ("кот", "который час"),
        ("art", ""),
        ("...", "..."),
    ],
)
def test_what_only_looks_alike_is_not_found(phrase: str, text: str) -> None:
    assert not Spoken(text).holds(phrase)


def test_punctuation_holds_no_words() -> None:
    assert read_phrase("?!… —") == ()


def test_a_long_text_is_looked_through_quickly() -> None:
    spoken = Spoken("a b " * 20_000)
    assert spoken.holds("b a b a b a b a")
    assert not spoken.holds("a b " * 20 + "c")
