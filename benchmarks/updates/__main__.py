"""Measure how changes are handled, through a running server: the current fact must come before the stale one.

    DATA=<folder> python -m benchmarks.updates [--key-file .memoria/dev.env]

`updates/fact_updates.jsonl` holds ten facts and one that contradicts one of them: each case goes into a namespace of
its own, then its question is asked with `learn: false`. `updates/one_word_changes.jsonl` holds pairs of sentences that
differ in one word: they are compared in this process, as consolidation and encode compare them, with the bundled model.
"""

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.recall_quality.__main__ import NoServerError, read_server
from benchmarks.recall_quality.service import Service
from memoria.contradiction import Verdict, judge, values_agree
from memoria.embedding import Embedder, open_minilm
from server.settings import read_settings

SOURCES = (
    "Give a folder with the public data in DATA: fact updates (letta-ai/letta-evals, as updates/fact_updates.jsonl) "
    "and Breaking NLI (BIU-NLP/Breaking_NLI, as updates/one_word_changes.jsonl)."
)
FLAGGED = (Verdict.DIFFER, Verdict.CHANGES)
PAIRS_A_BATCH = 100


@dataclass(frozen=True, slots=True)
class Update:
    """Be the outcome of one case: whether the current fact came first, and whether the stale one was marked."""

    current_first: bool
    stale_marked: bool
    stale_in_five: bool
    others_marked: int


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Measure and print; return 2 when the data or the server is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.updates", description=__doc__)
    parser.add_argument("--key-file", type=Path, help="what a local server wrote [MEMORIA_HOME/dev.env]")
    parsed = parser.parse_args(arguments)
    try:
        facts, pairs = _read(environ, "fact_updates"), _read(environ, "one_word_changes")
        url, key = read_server(environ, parsed.key_file)
    except (FileNotFoundError, NoServerError) as error:
        print(error, file=sys.stderr)
        return 2
    asyncio.run(_measure(facts, pairs, url, key, environ))
    return 0


def _read(environ: Mapping[str, str], name: str) -> list[dict[str, Any]]:
    """Read one file of the data. Raises FileNotFoundError naming the sources."""
    path = Path(environ.get("DATA") or "/nonexistent") / "updates" / f"{name}.jsonl"
    if not path.exists():
        raise FileNotFoundError(SOURCES)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def _measure(
    facts: Sequence[dict[str, Any]],
    pairs: Sequence[dict[str, Any]],
    url: str,
    key: str,
    environ: Mapping[str, str],
) -> None:
    async with Service(url, key) as service:
        updates = [await _update(service, case) for case in facts]
    _print_updates(updates)
    embedder = open_minilm(read_settings(environ).home)
    try:
        await _print_pairs(embedder, pairs)
    finally:
        await embedder.close()


async def _update(service: Service, case: dict[str, Any]) -> Update:
    """Store ten facts and the new one, ask, and look at the order and the marks."""
    namespace = f"bench/updates-{uuid4().hex[:12]}"
    stored = await service.call("/v1/memories/batch", {"namespace": namespace, "memories": _memories(case["facts"])})
    ids = dict(zip(case["facts"], stored["ids"], strict=True))
    new = await service.call("/v1/memories", {"namespace": namespace, **_memory(case["new_fact"])})
    body = {"query": case["question"], "namespace": namespace, "limit": 20, "learn": False, "explain": True}
    answer = await service.call("/v1/memories/recall", body)
    order = [hit["id"] for hit in answer["results"]]
    stale = ids[case["stale_fact"]]
    marked = {
        hit["id"]
        for hit in answer["candidates"]
        if min(hit["factors"]["superseded"], hit["factors"]["contradicted"]) < 1
    }
    await service.call(
        "/v1/memories/forget", {"namespace": namespace, "filters": {"occurred_after": "1900-01-01T00:00:00Z"}}
    )
    return Update(
        current_first=new["id"] in order and (stale not in order or order.index(new["id"]) < order.index(stale)),
        stale_marked=stale in marked,
        stale_in_five=stale in order[:5],
        others_marked=len(marked - {stale}),
    )


def _memories(contents: Sequence[str]) -> list[dict[str, str]]:
    return [_memory(content) for content in contents]


def _memory(content: str) -> dict[str, str]:
    return {"content": content}


def _print_updates(updates: Sequence[Update]) -> None:
    count = len(updates)
    print(f"fact updates, {count} cases of ten facts and one that contradicts one of them")
    print(f"  the current fact above the stale one   {sum(each.current_first for each in updates) / count:.3f}")
    print(f"  the stale fact marked                  {sum(each.stale_marked for each in updates) / count:.3f}")
    print(f"  the stale fact among the first five    {sum(each.stale_in_five for each in updates) / count:.3f}")
    print(f"  other facts marked, of nine a case     {sum(each.others_marked for each in updates) / (9 * count):.3f}")


async def _print_pairs(embedder: Embedder, pairs: Sequence[dict[str, Any]]) -> None:
    """Compare each pair of sentences and count, by label, what is merged and what is flagged."""
    totals: Counter[str] = Counter()
    merged: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for start in range(0, len(pairs), PAIRS_A_BATCH):
        batch = pairs[start : start + PAIRS_A_BATCH]
        vectors = await embedder.embed([pair[side] for pair in batch for side in ("a", "b")])
        for pair, first, second in zip(batch, vectors[::2], vectors[1::2], strict=True):
            label = pair["relation"]
            totals[label] += 1
            merged[label] += values_agree(pair["a"], pair["b"])
            flagged[label] += judge(pair["a"], pair["b"], float(first @ second)) in FLAGGED
    print(f"one-word changes, {len(pairs)} pairs          pairs  taken for the same  flagged as a contradiction")
    for label, total in sorted(totals.items()):
        print(f"  {label:<36} {total:>6}  {merged[label] / total:>18.3f}  {flagged[label] / total:>26.3f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
