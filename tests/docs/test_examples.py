"""The examples of the guides run against a server as they stand, and answer what is shown."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from anyio import to_thread

from accounts.keys import find_key
from memoria.database import Database
from memoria.identifiers import IdMaker
from memoria.job_records import NewJob
from memoria.jobs import enqueue
from memoria.vocabulary import JobKind
from server.app import create_app
from tests.docs.markdown import ROOT, Example, answers_in, blocks_of, examples_of, run_session
from tests.docs.shapes import alike, differences
from tests.live_server import open_people, serving, settings_for_tests

GUIDES = ("README.md", "docs/concepts.md", "docs/rest.md", "docs/operating.md")
PROBLEM = {"code", "status", "message", "request_id"}


@pytest.fixture(scope="module")
def url(postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the bundled model: what the guides say about finding must be true."""
    home = tmp_path_factory.mktemp("home")
    settings = settings_for_tests(postgres_url, redis_url, MEMORIA_EMBEDDER="minilm", MEMORIA_HOME=str(home))
    with serving(create_app(settings)) as url:
        yield url


@pytest.fixture
async def environment(url: str, postgres_url: str, redis_url: str) -> dict[str, str]:
    """What a reader has set, for somebody who has stored nothing yet, and what an operator has."""
    alice = (await open_people(postgres_url)).alice
    await enqueue_job(postgres_url, alice.key)
    return {
        "MEMORIA_URL": url,
        "MEMORIA_KEY": alice.key,
        "MEMORIA_NAMESPACE": alice.namespace,
        "DATABASE_URL": postgres_url,
        "REDIS_URL": redis_url,
        "MEMORIA_SECRET_KEY": "00" * 32,
    }


async def enqueue_job(postgres_url: str, key: str) -> None:
    """Let somebody have a job that waits, of no namespace."""
    database = await Database.open(postgres_url, pool_size=1)
    try:
        async with database.untenanted() as connection:
            found = await find_key(connection, key)
        assert found is not None
        org_id, now = found.principal.org_id, datetime.now(UTC)
        async with database.tenant(org_id) as connection:
            await enqueue(connection, org_id, NewJob(JobKind.DECAY), new_id=IdMaker(lambda: now).next(), now=now)
    finally:
        await database.close()


@pytest.mark.anyio
@pytest.mark.parametrize("guide", GUIDES)
async def test_examples_run_and_answer_what_is_shown(guide: str, environment: dict[str, str], tmp_path: Path) -> None:
    examples = examples_of((ROOT / guide).read_text())
    outputs = await to_thread.run_sync(run_session, examples, environment, tmp_path)
    faults = [
        f"{guide}:{example.block.line}: {fault}"
        for example, output in zip(examples, outputs, strict=True)
        for fault in faults_of(example, output)
    ]
    assert faults == []


def faults_of(example: Example, output: str) -> Iterator[str]:
    """Say where an output is not what is shown, or is a problem that is not shown."""
    shown_json = [block for block in example.shown if block.language == "json"]
    answers = answers_in(output) if shown_json else []
    for block in shown_json:
        yield from differences(json.loads(block.text), answers.pop() if answers else None)
    for block in example.shown:
        if block.language == "text":
            lines = output.splitlines()
            for line in block.text.splitlines():
                if not any(alike(line, came) for came in lines):
                    yield f"{line!r} is shown and did not come in {output!r}"
    if not shown_json and any(isinstance(answer, dict) and answer.keys() >= PROBLEM for answer in answers_in(output)):
        yield f"it answers a problem: {output}"


@pytest.mark.parametrize("guide", GUIDES)
def test_every_block_is_run_compared_or_says_why_not(guide: str) -> None:
    text = (ROOT / guide).read_text()
    examples = examples_of(text)
    used = {id_of for example in examples for id_of in (example.block.line, *(shown.line for shown in example.shown))}
    left = [block for block in blocks_of(text) if block.line not in used and block.reason is None]
    assert left == []
    assert {shown.language for example in examples for shown in example.shown} <= {"json", "text"}
    assert examples


def test_the_calls_of_the_readme_stand_as_they_were_promised() -> None:
    text = (ROOT / "README.md").read_text()
    calls = [example.block.text for example in examples_of(text)]
    head = '-H "Authorization: Bearer $MEMORIA_KEY" -H "Content-Type: application/json" \\\n  -d '
    assert calls == [
        f"curl -X POST $MEMORIA_URL/v1/memories {head}"
        '\'{"content":"We deploy on Fridays after 2pm","type":"Episodic","namespace":"\'$MEMORIA_NAMESPACE\'"}\'\n',
        f"curl -X POST $MEMORIA_URL/v1/memories/recall {head}"
        '\'{"query":"when do we deploy?","namespace":"\'$MEMORIA_NAMESPACE\'"}\'\n',
        f"curl -X POST $MEMORIA_URL/v1/mcp {head}"
        '\'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memories",'
        '"arguments":{"query":"auth flow","namespace":"code/myapp"}}}\'\n',
    ]


def test_a_wrong_answer_and_a_problem_are_noticed() -> None:
    (example,) = examples_of('```bash\ntrue\n```\n\n```json\n{"tier": "Core", "score": 0.5, "…": "…"}\n```\n')
    assert list(faults_of(example, '{"tier": "Core", "score": 0.7, "id": "mem_070z2psx970vg"}')) == []
    assert list(faults_of(example, '{"tier": "Buffer", "score": 0.7}')) != []
    assert list(faults_of(example, '{"tier": "Core"}')) != []
    (bare,) = examples_of("```bash\ntrue\n```\n")
    assert list(faults_of(bare, '{"id": "mem_070z2psx970vg"}')) == []
    assert list(faults_of(bare, '{"code": "NOT_FOUND", "status": 404, "message": "x", "request_id": "y"}')) != []
