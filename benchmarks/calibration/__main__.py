"""Measure whether the confidence of recalls can be relied on, through a running server.

    DATA=<folder> python -m benchmarks.calibration [--key-file .memoria/dev.env]

Every LoCoMo conversation goes into a namespace of its own. It is asked its answerable questions, its unanswerable ones
(category 5: what was asked of one person is asked of the other), and the questions of the next conversation, which it
cannot answer either; each once, with `learn: false`. RealMem's queries follow, with what came before them.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.recall_quality.__main__ import NoServerError, read_server
from benchmarks.recall_quality.dataset import (
    Conversation,
    DataMissingError,
    Question,
    read_conversations,
    read_unanswerable,
)
from benchmarks.recall_quality.metrics import recall_at
from benchmarks.recall_quality.service import Service, Stored

GRADES = ("High", "Moderate", "Low", "None")
ANSWERABLE, TURNED, FOREIGN, REALMEM = "answerable", "category 5", "of another conversation", "RealMem"
RESULTS = 10


@dataclass(frozen=True, slots=True)
class Graded:
    """Be one answer: the kind of question, the grade, and the share of the evidence found (None: there is none)."""

    kind: str
    grade: str
    found: float | None


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Measure and print; return 2 when the data or the server is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--key-file", type=Path, help="what a local server wrote [MEMORIA_HOME/dev.env]")
    parser.add_argument("--only", choices=("LoCoMo", "RealMem"), help="measure one collection")
    parsed = parser.parse_args(arguments)
    folder = Path(environ.get("DATA") or "/nonexistent")
    try:
        conversations = read_conversations(folder)
        url, key = read_server(environ, parsed.key_file)
    except (DataMissingError, NoServerError) as error:
        print(error, file=sys.stderr)
        return 2
    chosen = [each for each in conversations if parsed.only in (None, each.collection)]
    _report(asyncio.run(_measure(folder, chosen, url, key)))
    return 0


async def _measure(folder: Path, conversations: Sequence[Conversation], url: str, key: str) -> list[Graded]:
    unanswerable = read_unanswerable(folder)
    locomo = [each for each in conversations if each.collection == "LoCoMo"]
    graded: list[Graded] = []
    async with Service(url, key) as service:
        for place, conversation in enumerate(conversations):
            stored = await service.store(conversation)
            if conversation.collection == "LoCoMo":
                asked = [(ANSWERABLE, question) for question in conversation.questions]
                asked += [(TURNED, question) for question in unanswerable[conversation.name]]
                other = locomo[(place + 1) % len(locomo)]
                asked += [(FOREIGN, _without_evidence(question)) for question in other.questions]
            else:
                asked = [(REALMEM, question) for question in conversation.questions]
            graded += [await _grade(service, stored, kind, question) for kind, question in asked]
            await service.drop(stored)
            print(f"  {conversation.name}: {len(asked)} questions", file=sys.stderr)
    return graded


def _without_evidence(question: Question) -> Question:
    return Question(question.text, question.category, frozenset(), question.before)


async def _grade(service: Service, stored: Stored, kind: str, question: Question) -> Graded:
    answer = await service.recall(stored, question)
    found = recall_at(RESULTS)(answer.units, question.evidence) if question.evidence else None
    return Graded(kind, answer.confidence, found)


def _report(graded: Sequence[Graded]) -> None:
    print(f"{'':<26}" + "".join(f"{grade:>10}" for grade in GRADES))
    for kind in (ANSWERABLE, TURNED, FOREIGN, REALMEM):
        own = [each for each in graded if each.kind == kind]
        shares = [sum(each.grade == grade for each in own) / max(1, len(own)) for grade in GRADES]
        print(f"{kind:<26}" + "".join(f"{share:>10.3f}" for share in shares) + f"  of {len(own)}")
        if kind in (ANSWERABLE, REALMEM):
            means = [_mean(each.found for each in own if each.grade == grade) for grade in GRADES]
            print(f"{f'  recall@{RESULTS}':<26}" + "".join(f"{mean:>10}" for mean in means))
    doubted = {
        kind: _share(each.grade in ("Low", "None") for each in graded if each.kind in kinds)
        for kind, kinds in {"answerable": (ANSWERABLE,), "unanswerable": (TURNED, FOREIGN)}.items()
    }
    ratio = doubted["unanswerable"] / max(doubted["answerable"], 1e-9)
    print(
        f"Low or empty: {doubted['unanswerable']:.3f} of the unanswerable, "
        f"{doubted['answerable']:.3f} of the answerable: {ratio:.1f} times as often"
    )


def _mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.3f}" if known else "-"


def _share(flags: Iterable[bool]) -> float:
    listed = list(flags)
    return sum(listed) / max(1, len(listed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
