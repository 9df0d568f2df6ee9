import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.recall_quality.__main__ import main
from benchmarks.recall_quality.dataset import DataMissingError, read_conversations, read_unanswerable

TURNS = [
    {
        "id": "D1:1",
        "session": 1,
        "session_time": "1:56 pm on 8 May, 2023",
        "speaker": "Ann",
        "text": "Hello",
        "image_caption": "a lake",
    },
    {"id": "D2:1", "session": 2, "session_time": "9:00 am on 9 May, 2023", "speaker": "Bo", "text": "Hi"},
]
QUESTIONS = [
    {"question": "Who said hello?", "category": 4, "evidence": ["D1:1; D9:9"]},
    {"question": "Not answerable", "category": 5, "evidence": ["D1:1"]},
    {"question": "No evidence", "category": 1, "evidence": []},
]


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def test_unanswerable_questions_are_read_apart(tmp_path: Path) -> None:
    write(tmp_path / "locomo/conv-1.json", {"id": "conv-1", "turns": TURNS, "questions": QUESTIONS})
    ((name, questions),) = read_unanswerable(tmp_path).items()
    assert (name, [question.text for question in questions]) == ("conv-1", ["Not answerable"])


def test_locomo_turns_are_said_by_someone_at_some_time(tmp_path: Path) -> None:
    write(tmp_path / "locomo/conv-1.json", {"id": "conv-1", "turns": TURNS, "questions": QUESTIONS})
    (conversation,) = read_conversations(tmp_path)
    first = conversation.turns[0]
    assert first.content == "Ann: Hello [image: a lake]"
    assert first.occurred_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert first.context["session_id"] != conversation.turns[1].context["session_id"]


def test_only_answerable_questions_with_known_evidence_are_asked(tmp_path: Path) -> None:
    write(tmp_path / "locomo/conv-1.json", {"id": "conv-1", "turns": TURNS, "questions": QUESTIONS})
    (conversation,) = read_conversations(tmp_path)
    assert [(question.text, question.evidence) for question in conversation.questions] == [
        ("Who said hello?", frozenset({"D1:1"}))
    ]


def test_the_published_locomo_file_reads_the_same(tmp_path: Path) -> None:
    sessions = {
        "session_1_date_time": TURNS[0]["session_time"],
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hello", "blip_caption": "a lake"}],
        "session_2_date_time": TURNS[1]["session_time"],
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Hi"}],
    }
    write(tmp_path / "own/locomo/conv-1.json", {"id": "conv-1", "turns": TURNS, "questions": QUESTIONS})
    write(tmp_path / "public/locomo10.json", [{"sample_id": "conv-1", "conversation": sessions, "qa": QUESTIONS}])
    assert read_conversations(tmp_path / "own") == read_conversations(tmp_path / "public")


def test_realmem_sessions_of_a_day_keep_their_order(tmp_path: Path) -> None:
    said = [{"speaker": "User", "text": "I like tea"}]
    sessions = [{"session": name, "date": "2026-01-02 (Friday)", "turns": said} for name in ("one", "two")]
    query = {"query": "tea?", "category": "x", "asked_in_session": "two", "gold_sessions": ["one"]}
    write(tmp_path / "realmem/ann.json", {"id": "ann", "sessions": sessions, "queries": [query]})
    (conversation,) = read_conversations(tmp_path)
    asked = conversation.questions[0].before
    assert asked is not None
    assert [turn.occurred_at < asked for turn in conversation.turns] == [True, False]
    assert asked - conversation.turns[0].occurred_at == timedelta(hours=12)


def test_a_folder_without_data_names_the_public_sources(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="snap-research/locomo"):
        read_conversations(tmp_path)


def test_without_data_the_command_says_where_to_get_it_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {}) == 2
    assert "snap-research/locomo" in capsys.readouterr().err
