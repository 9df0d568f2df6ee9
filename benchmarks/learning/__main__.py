"""Measure what learning is worth, and that it harms nothing, on labelled conversations.

    DATA=<folder> python -m benchmarks.learning [--only NAME ...]

It starts a Postgres of its own. Each conversation goes into three namespaces:

  taught     half of the questions are asked, and each of their first ten results is marked as its label says
  control    the same half is asked, without feedback
  repeated   all questions are asked three times over, and every recall teaches

Then the taught half is asked in other words (by rule: another question word, another order, another small word) and the
other half as it stands, without a trace. At last 100 rounds of careless feedback mark what they get as useful.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import numpy as np

from accounts.accounts import create_account
from accounts.organizations import RateLimit
from benchmarks.learning.paraphrases import paraphrase
from benchmarks.learning.pupil import MARKED, PacedClock, Pupil, RememberingEmbedder, enrol
from benchmarks.recall_quality.dataset import SOURCES, Conversation, DataMissingError, Question, read_conversations
from benchmarks.recall_quality.metrics import bootstrap_interval, recall_at
from memoria.embedding import open_minilm
from memoria.engine import Engine
from memoria.migrations import migrate
from memoria.records import Principal
from memoria.reward import Feedback
from server.embedded import EmbeddedServers
from server.settings import read_settings

ROUNDS_OF_CARELESSNESS = 100
CARELESS_QUESTIONS = 2
PASSES = 3
NO_LIMIT = RateLimit(per_second=1e6, burst=1_000_000)

Series = dict[str, list[float]]


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Measure and print; return 2 when the data is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.learning", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", help="conversations by name")
    parsed = parser.parse_args(arguments)
    try:
        if not environ.get("DATA"):
            raise DataMissingError(SOURCES)
        found = [each for each in read_conversations(Path(environ["DATA"])) if each.collection == "LoCoMo"]
    except DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    chosen = [each for each in found if not parsed.only or each.name in parsed.only]
    with tempfile.TemporaryDirectory(prefix="memoria-learning-") as folder:
        Path(folder).chmod(0o711)
        with EmbeddedServers(Path(folder), redis=False, durable=False) as servers:
            print(asyncio.run(_measure(servers.database_url, chosen, read_settings(environ).home / "models")))
    return 0


async def _measure(url: str, conversations: Sequence[Conversation], models: Path) -> str:
    owner = await asyncpg.connect(url)
    await migrate(owner)
    await owner.close()
    clock = PacedClock()
    engine = await Engine.open(url, RememberingEmbedder(open_minilm(models)), clock=clock, pool_size=2)
    series: Series = defaultdict(list)
    bounds: Series = defaultdict(list)
    try:
        opened = await create_account(engine.database, "learning@example.com", clock(), rate=NO_LIMIT)
        organization = opened.organization
        principal = Principal(organization.org_id, organization.own_namespace)
        for conversation in conversations:
            print(f"{conversation.name}: {len(conversation.turns)} memories", file=sys.stderr)
            await _teach(engine, principal, clock, conversation, series)
            await _repeat(engine, principal, clock, conversation, series, bounds)
    finally:
        await engine.close()
    return _report(series, bounds)


async def _teach(
    engine: Engine, principal: Principal, clock: PacedClock, conversation: Conversation, series: Series
) -> None:
    """Teach one half of the questions in one namespace and only ask it in another; ask both before and after."""
    half, other_half = conversation.questions[::2], conversation.questions[1::2]
    taught = await enrol(engine, principal, clock, conversation, "taught")
    control = await enrol(engine, principal, clock, conversation, "control")
    for pupil, name in ((taught, "taught"), (control, "control")):
        await _examine(pupil, half, other_half, f"{name}, before", series)
        for question in half:
            if pupil is taught:
                await pupil.teach(question)
            else:
                await pupil.rank(question.text, learn=True)
        await _examine(pupil, half, other_half, f"{name}, after", series)


async def _examine(
    pupil: Pupil, half: Sequence[Question], other_half: Sequence[Question], when: str, series: Series
) -> None:
    for question in half:
        ranking = await pupil.rank(paraphrase(question.text))
        series[f"in other words, {when}"].append(recall_at(5)(ranking, question.evidence))
        series[f"in other words, {when} @10"].append(recall_at(10)(ranking, question.evidence))
    for question in other_half:
        ranking = await pupil.rank(question.text)
        series[f"other half, {when}"].append(recall_at(5)(ranking, question.evidence))
        series[f"other half, {when} @10"].append(recall_at(10)(ranking, question.evidence))


async def _repeat(
    engine: Engine,
    principal: Principal,
    clock: PacedClock,
    conversation: Conversation,
    series: Series,
    bounds: Series,
) -> None:
    """Ask everything again and again with learning on, then mark carelessly."""
    pupil = await enrol(engine, principal, clock, conversation, "repeated")
    for question in conversation.questions:
        series["repeated, untouched"].append(recall_at(10)(await pupil.rank(question.text), question.evidence))
    for number in range(1, PASSES + 1):
        for question in conversation.questions:
            ranking = await pupil.rank(question.text, learn=True)
            series[f"repeated, pass {number}"].append(recall_at(10)(ranking, question.evidence))
    for question in conversation.questions[:CARELESS_QUESTIONS]:
        for _ in range(ROUNDS_OF_CARELESSNESS):
            answer = await pupil.ask(question.text, learn=True)
            for hit in answer.hits[:MARKED]:
                await pupil.mark(Feedback(hit.memory.id, useful=True, recall_id=answer.recall_id))
    for memory in await pupil.all_memories():
        bounds["utility"].append(memory.utility)
        bounds["salience"].append(memory.salience)
    for question in conversation.questions:
        series["repeated, after careless marks"].append(
            recall_at(10)(await pupil.rank(question.text), question.evidence)
        )


def _report(series: Series, bounds: Series) -> str:
    lines = []
    for what in ("in other words", "other half"):
        for at in ("", " @10"):
            for name in ("taught", "control"):
                before, after = series[f"{what}, {name}, before{at}"], series[f"{what}, {name}, after{at}"]
                lines.append(_compare(f"{what}, {name}, recall{at or ' @5'}", before, after))
    untouched = series["repeated, untouched"]
    for number in range(1, PASSES + 1):
        lines.append(_compare(f"asked again, pass {number}, recall @10", untouched, series[f"repeated, pass {number}"]))
    lines.append(_compare("after careless marks, recall @10", untouched, series["repeated, after careless marks"]))
    for name, values in bounds.items():
        lines.append(f"{name} after {ROUNDS_OF_CARELESSNESS} careless rounds: {min(values):.3f} to {max(values):.3f}")
    return "\n".join(lines)


def _compare(title: str, before: Sequence[float], after: Sequence[float]) -> str:
    difference = np.array(after) - np.array(before)
    low, high = bootstrap_interval(difference.tolist())
    return (
        f"{title:<44} {np.mean(before):.3f} -> {np.mean(after):.3f}  {difference.mean():+.4f}"
        f"  [{low:+.4f}, {high:+.4f}]  n={len(difference)}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], dict(os.environ)))
