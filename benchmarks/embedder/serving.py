"""Measure the bundled embedder as the service uses it: start, memory, queries alone and beside ingestion.

    python -m benchmarks.embedder.serving DATA

DATA is the folder that `benchmarks.embedder.precision` describes.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.embedder.precision import read_conversations
from memoria.embedding import Embedder, open_minilm

INGESTED_TEXTS = 500
QUERIES = 40


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "conversations/locomo").is_dir():
        print(__doc__)
        raise SystemExit(2)
    conversations = list(read_conversations(Path(sys.argv[1]) / "conversations/locomo"))
    turns = [turn for conversation in conversations for turn in conversation.turns][:INGESTED_TEXTS]
    queries = [question.text for question in conversations[0].questions][:QUERIES]
    with tempfile.TemporaryDirectory() as folder:
        before_mb = resident_mb()
        assembling_seconds = opening_seconds(Path(folder))
        start = time.perf_counter()
        embedder = open_minilm(Path(folder))
        cached_seconds = time.perf_counter() - start
        print(f"start: {assembling_seconds:.2f} s assembling, {cached_seconds:.2f} s from the cache")
        asyncio.run(serve(embedder, turns, queries))
        print(f"resident: {resident_mb():.0f} MB, of them {before_mb:.0f} MB before the model was opened")


def opening_seconds(folder: Path) -> float:
    """Open in another process, whose assembling then does not count in this one's memory."""
    program = f"from memoria.embedding import MiniLM; from pathlib import Path; MiniLM.load(Path({str(folder)!r}))"
    start = time.perf_counter()
    asyncio.run(run_python(program))
    return time.perf_counter() - start


async def run_python(program: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await process.wait() == 0


async def serve(embedder: Embedder, turns: list[str], queries: list[str]) -> None:
    await embedder.embed(turns[:32])
    tokens = sum(map(embedder.count_tokens, turns))
    show("queries alone", [await query_ms(embedder, query) for query in queries])
    start = time.perf_counter()
    await embedder.embed(turns)
    seconds = time.perf_counter() - start
    print(f"ingestion: {len(turns) / seconds:.0f} texts/s, {tokens / seconds:.0f} tokens/s")
    ingestion = asyncio.create_task(embedder.embed(turns))
    beside = []
    for query in queries:
        beside.append(await query_ms(embedder, query))
        if ingestion.done():
            break
    show("queries beside an ingestion", beside)
    await ingestion
    start = time.perf_counter()
    await asyncio.gather(*(embedder.embed([query]) for query in queries))
    print(f"{len(queries)} queries at once: {(time.perf_counter() - start) * 1000:.0f} ms for all")
    await embedder.close()


async def query_ms(embedder: Embedder, query: str) -> float:
    start = time.perf_counter()
    await embedder.embed([query])
    return (time.perf_counter() - start) * 1000


def show(label: str, measured_ms: list[float]) -> None:
    print(f"{label}: median {statistics.median(measured_ms):.1f} ms, longest {max(measured_ms):.1f} ms")


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
