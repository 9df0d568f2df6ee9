"""Read labelled conversations: LoCoMo and RealMem, from a folder that holds them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SOURCES = (
    "Give a folder with the public data in DATA: LoCoMo (https://github.com/snap-research/locomo, locomo10.json or "
    "locomo/<conversation>.json) and RealMem (https://github.com/AvatarMemory/RealMemBench, as realmem/<person>.json)."
)
UNANSWERABLE = 5
TURN_SECONDS = 30  # turns of a session have one time stamp between them; they are sent this far apart
_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
_EVIDENCE = re.compile(r"D\d+:\d+")


class DataMissingError(Exception):
    """Say that the data is not where it was looked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Be one turn, as an ordinary client would send it. `unit` is what counts as found: a turn or its session."""

    unit: str
    content: str
    occurred_at: datetime
    context: dict[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """Be a question, the units that hold its answer, and the moment before which to search (None: everywhere)."""

    text: str
    category: str
    evidence: frozenset[str]
    before: datetime | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Be one person's (or pair's) history and the questions about it."""

    collection: str
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def read_conversations(folder: Path) -> list[Conversation]:
    """Read everything that is in the folder. Raises DataMissingError when there is nothing."""
    found = [*_read_locomo(folder), *_read_realmem(folder)]
    if not found:
        raise DataMissingError(SOURCES)
    return found


def read_unanswerable(folder: Path) -> dict[str, list[Question]]:
    """Read, by conversation, LoCoMo's questions that cannot be answered as they are asked; they have no evidence."""
    records = [
        (record["id"], record["questions"])
        for path in sorted(folder.rglob("locomo/conv-*.json"))
        for record in [json.loads(path.read_text(encoding="utf-8"))]
    ]
    for path in sorted(folder.rglob("locomo10.json")):
        records += [(each["sample_id"], each["qa"]) for each in json.loads(path.read_text(encoding="utf-8"))]
    return {
        name: [
            Question(asked["question"], str(asked["category"]), frozenset(), None)
            for asked in questions
            if asked["category"] == UNANSWERABLE
        ]
        for name, questions in records
    }


def _read_locomo(folder: Path) -> Iterator[Conversation]:
    for path in sorted(folder.rglob("locomo10.json")):
        for record in json.loads(path.read_text(encoding="utf-8")):
            yield _locomo(record["sample_id"], list(_original_turns(record["conversation"])), record["qa"])
    for path in sorted(folder.rglob("locomo/conv-*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        yield _locomo(record["id"], record["turns"], record["questions"])


def _original_turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Flatten the published file: `session_1`, `session_1_date_time`, `session_2` …"""
    for number in range(1, len(conversation)):
        for turn in conversation.get(f"session_{number}", ()):
            yield {
                "id": turn["dia_id"],
                "session": number,
                "session_time": conversation[f"session_{number}_date_time"],
                "speaker": turn["speaker"],
                "text": turn["text"],
                "image_caption": turn.get("blip_caption"),
            }


def _locomo(name: str, records: list[dict[str, Any]], questions: list[dict[str, Any]]) -> Conversation:
    turns = []
    for position, record in enumerate(records):
        caption = record.get("image_caption")
        started = datetime.strptime(record["session_time"].upper(), _LOCOMO_TIME).replace(tzinfo=UTC)
        turns.append(
            Turn(
                unit=record["id"],
                content=f"{record['speaker']}: {record['text']}" + (f" [image: {caption}]" if caption else ""),
                occurred_at=started + timedelta(seconds=TURN_SECONDS * position),
                context={"session_id": f"{name}/{record['session']}"},
            )
        )
    known = {turn.unit for turn in turns}
    asked = []
    for record in questions:
        evidence = frozenset(_EVIDENCE.findall(" ".join(record["evidence"]))) & known
        if evidence and record["category"] != UNANSWERABLE:
            asked.append(Question(record["question"], str(record["category"]), evidence, None))
    return Conversation("LoCoMo", name, tuple(turns), tuple(asked))


def _read_realmem(folder: Path) -> Iterator[Conversation]:
    for path in sorted(folder.rglob("realmem/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        starts = _session_starts(record["sessions"])
        turns = [
            Turn(
                unit=session["session"],
                content=turn["text"],
                occurred_at=starts[session["session"]] + timedelta(seconds=TURN_SECONDS * position),
                context={"session_id": session["session"], "role": turn["speaker"].lower()},
            )
            for session in record["sessions"]
            for position, turn in enumerate(session["turns"])
            if turn["text"].strip()
        ]
        questions = [
            Question(query["query"], query["category"], frozenset(query["gold_sessions"]), before)
            for query in record["queries"]
            if (before := starts[query["asked_in_session"]]) and query["gold_sessions"]
        ]
        yield Conversation("RealMem", record["id"], tuple(turns), tuple(questions))


def _session_starts(sessions: list[dict[str, Any]]) -> dict[str, datetime]:
    """Place the sessions of a day, which have no hour, twelve hours apart at most, in their order."""
    starts: dict[str, datetime] = {}
    of_day: dict[str, list[str]] = {}
    for session in sessions:
        of_day.setdefault(session["date"][:10], []).append(session["session"])
    for day, names in of_day.items():
        midnight = datetime.fromisoformat(day).replace(tzinfo=UTC)
        starts.update({name: midnight + timedelta(days=place / len(names)) for place, name in enumerate(names)})
    return starts
