"""Measure recall on labelled conversations, through a running server.

    DATA=<folder> python -m benchmarks.recall_quality [--only LoCoMo] [--consolidate] [--key-file .memoria/dev.env]

MEMORIA_URL and MEMORIA_KEY name the server; without them they are read from the file that a local server writes. Each
conversation goes into a fresh namespace, in batches; each question is one recall with `learn: false`. The row with
spreading off runs in this process, on the same database. With `--consolidate` each conversation is consolidated twice
and asked again; a summary or an episode then counts as its members.
"""

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from accounts.environment import SettingsError
from benchmarks.recall_quality.baselines import rank_simply
from benchmarks.recall_quality.dataset import SOURCES, Conversation, DataMissingError, read_conversations
from benchmarks.recall_quality.report import CONSOLIDATED, ENGINE, UNSPREAD, Measured, render
from benchmarks.recall_quality.service import Service, Stored
from benchmarks.recall_quality.unspread import UnspreadRecall, open_unspread
from memoria.embedding import Embedder, open_minilm
from memoria.errors import MemoriaError
from server.embedded import EmbeddedError
from server.settings import read_settings


class NoServerError(Exception):
    """Say that it is not known which server to measure."""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Measure and print; return 2 when the data or the server is missing."""
    parsed = _parser().parse_args(arguments)
    try:
        conversations = read_conversations(_folder(environ))
        url, key = read_server(environ, parsed.key_file)
    except (DataMissingError, NoServerError) as error:
        print(error, file=sys.stderr)
        return 2
    chosen = [c for c in conversations if parsed.only in (None, c.collection)]
    for measured in asyncio.run(_measure(chosen, url, key, environ, consolidate=parsed.consolidate)):
        print(render(measured))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall_quality", description=__doc__)
    parser.add_argument("--only", choices=("LoCoMo", "RealMem"), help="measure one collection")
    parser.add_argument("--consolidate", action="store_true", help="ask again after consolidating twice")
    parser.add_argument("--key-file", type=Path, help="what a local server wrote [MEMORIA_HOME/dev.env]")
    return parser


def _folder(environ: Mapping[str, str]) -> Path:
    """Name the folder with the data. Raises DataMissingError."""
    folder = environ.get("DATA")
    if not folder:
        raise DataMissingError(SOURCES)
    return Path(folder)


def read_server(environ: Mapping[str, str], key_file: Path | None) -> tuple[str, str]:
    """Find the server's URL and a key. Raises NoServerError."""
    file = key_file or read_settings(environ).home / "dev.env"
    written = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line) if file.exists() else {}
    url, key = (environ.get(name) or written.get(name) for name in ("MEMORIA_URL", "MEMORIA_KEY"))
    if not url or not key:
        raise NoServerError("Start a server (`make run`), or set MEMORIA_URL and MEMORIA_KEY.")
    return url, key


async def _measure(
    conversations: Sequence[Conversation], url: str, key: str, environ: Mapping[str, str], *, consolidate: bool
) -> list[Measured]:
    async with contextlib.AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(url, key))
        unspread = None
        try:
            unspread = await stack.enter_async_context(open_unspread(environ, key))
        except (SettingsError, EmbeddedError, MemoriaError) as error:
            print(
                f"Without the row with spreading off, as the database is not to be had here: {error}", file=sys.stderr
            )
        embedder = open_minilm(read_settings(environ).home / "models")
        stack.push_async_callback(embedder.close)
        parts = [
            await _measure_one(conversation, service, unspread, embedder, consolidate=consolidate)
            for conversation in conversations
        ]
    return [_joined(name, parts) for name in dict.fromkeys(part.collection for part in parts)]


async def _measure_one(
    conversation: Conversation,
    service: Service,
    unspread: UnspreadRecall | None,
    embedder: Embedder,
    *,
    consolidate: bool,
) -> Measured:
    print(f"{conversation.name}: {len(conversation.turns)} memories", file=sys.stderr)
    stored = await service.store(conversation)
    try:
        measured = await _ask(conversation, stored, service, unspread, embedder)
        if consolidate:
            slept = await service.consolidate(stored)
            answers = [await service.recall(slept, question) for question in conversation.questions]
            measured.rankings[CONSOLIDATED] = [answer.units for answer in answers]
        return measured
    finally:
        await service.drop(stored)


async def _ask(
    conversation: Conversation,
    stored: Stored,
    service: Service,
    unspread: UnspreadRecall | None,
    embedder: Embedder,
) -> Measured:
    """Ask every question of every method."""
    questions = conversation.questions
    answers = [await service.recall(stored, question) for question in questions]
    rankings = await rank_simply(conversation, embedder)
    rankings[ENGINE] = [answer.units for answer in answers]
    if unspread is not None:
        rankings[UNSPREAD] = [await unspread.recall(stored, question) for question in questions]
    return Measured(conversation.collection, questions, rankings, [answer.milliseconds for answer in answers])


def _joined(collection: str, parts: Sequence[Measured]) -> Measured:
    """Put the conversations of one collection together."""
    own = [part for part in parts if part.collection == collection]
    return Measured(
        collection,
        [question for part in own for question in part.questions],
        {method: [ranking for part in own for ranking in part.rankings[method]] for method in own[0].rankings},
        [time for part in own for time in part.milliseconds],
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
