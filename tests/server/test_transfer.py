"""Exports and imports stream: neither the size of a namespace nor that of a body is held in memory."""

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from memoria.transfer_records import ExportHeader, TransferCounts
from server.services import Services, utc_now
from server.wire.transfer_lines import read_lines, render_line
from tests.people import Person

pytestmark = pytest.mark.anyio

HEADERS = {"content-type": "application/x-ndjson"}
MIB = 1024 * 1024


def note(number: int) -> dict[str, str]:
    return {"content": f"Note {number} says that server {number % 97} stands in room {number % 13}", "namespace": "n"}


async def store(person: Person, count: int) -> None:
    for first in range(0, count, 500):
        body = {"memories": [note(number) for number in range(first, min(first + 500, count))]}
        assert (await person.client.post("/v1/memories/batch", json=body)).status_code == 201


async def export(person: Person) -> bytes:
    answer = await person.client.get("/v1/export", params={"namespace": "n"})
    assert answer.status_code == 200
    return answer.content


async def test_an_export_says_how_to_keep_it(alice: Person) -> None:
    await store(alice, 1)
    answer = await alice.client.get("/v1/export", params={"namespace": "n"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"].startswith('attachment; filename="memoria-n-2')
    head = await alice.client.head("/v1/export", params={"namespace": "n"})
    assert (head.status_code, head.content) == (200, b"")


async def test_an_export_of_thousands_is_read_in_pages(alice: Person, services: Services) -> None:
    await store(alice, 2100)
    lines = (await export(alice)).splitlines()
    assert [json.loads(line)["kind"] for line in lines].count("Memory") == 2100
    assert json.loads(lines[-1])["counts"]["memories"] == 2100
    body = b"\n".join(lines)
    assert (await alice.client.delete("/v1/namespaces/n")).status_code == 202, "so many are left to a job"
    answer = await alice.client.post("/v1/import", content=body, headers=HEADERS, params={"namespace": "m"})
    assert answer.json()["refused"] == 0
    assert answer.json()["imported"]["memories"] + answer.json()["mapped"] >= 2100


async def test_a_body_of_any_size_is_read_without_being_held(alice: Person) -> None:
    header = ExportHeader(1, "n", None, utc_now(), TransferCounts())
    first = render_line(header).model_dump_json().encode() + b"\n"

    async def body() -> AsyncIterator[bytes]:
        yield first
        for _ in range(40):
            yield b'"' + b"x" * MIB  # one line of 40 MiB, too long to be one
        yield b"\n"

    answer = await alice.client.post("/v1/import", content=body(), headers=HEADERS)
    assert answer.status_code == 200
    assert [refusal["code"] for refusal in answer.json()["refusals"]] == ["CONTENT_TOO_LARGE"]
    assert f"{40 * (MIB + 1):,}" in answer.json()["refusals"][0]["message"]


async def test_reading_lines_holds_no_more_than_one() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(60):
            yield b"x" * MIB

    tracemalloc.start()
    try:
        refused = [line async for line in read_lines(chunks())]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(refused) == 1
    assert peak < 16 * MIB


async def test_an_import_that_is_killed_is_finished_by_a_repeat(alice: Person, services: Services) -> None:
    await store(alice, 600)
    body = await export(alice)
    assert (await alice.client.delete("/v1/namespaces/n")).json()["erased"]
    begun = asyncio.Event()

    async def half() -> AsyncIterator[bytes]:
        yield b"".join(body.splitlines(keepends=True)[:450])
        begun.set()  # all that came before has been taken, save for the batch that is not full yet
        await asyncio.Event().wait()

    request = asyncio.create_task(alice.client.post("/v1/import", content=half(), headers=HEADERS))
    await begun.wait()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    stored = (await alice.client.get("/v1/stats", params={"namespace": "n"})).json()["memories"]
    assert 0 < stored < 600
    answer = (await alice.client.post("/v1/import", content=body, headers=HEADERS)).json()
    assert (answer["refused"], answer["mapped"]) == (0, 0)
    assert answer["imported"]["memories"] == 600 - stored
    assert (await export(alice)).splitlines()[1:] == body.splitlines()[1:]


@pytest.mark.parametrize("declared", ["application/json", "text/plain", ""])
async def test_what_is_not_declared_as_lines_is_malformed(alice: Person, declared: str) -> None:
    answer = await alice.client.post("/v1/import", content=b"", headers={"content-type": declared})
    assert (answer.status_code, answer.json()["code"]) == (400, "MALFORMED_REQUEST")


async def test_the_names_of_namespaces_are_not_guessed_wrong(alice: Person, bob: Person) -> None:
    await store(alice, 1)
    assert (await bob.client.get("/v1/export", params={"namespace": "n"})).status_code == 200
    assert (await bob.client.post("/v1/import", content=b"", headers=HEADERS)).status_code == 403
    assert (await bob.client.delete("/v1/namespaces/n")).status_code == 403
    assert (await alice.client.delete("/v1/namespaces/~1%2Fn")).status_code == 422
