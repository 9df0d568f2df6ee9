"""Neither time nor status nor shape tells what another organization, or another key, has."""

import statistics
import time
from uuid import uuid4

import httpx
import pytest
from starlette.applications import Starlette

from accounts.keys import KeyGrant
from memoria.database import Database
from memoria.identifiers import format_id
from tests.people import Person, add_key, client_of

pytestmark = pytest.mark.anyio

SAMPLES = 60
TIME_RATIO = 2.0  # medians on a busy machine; a read that looked further would differ by more


def shape(answer: httpx.Response) -> tuple[int, object]:
    """Reduce an answer to its status and body, without what is new in every answer."""
    told = answer.json()
    told.pop("request_id", None)
    told.get("details", {}).pop("id", None)
    return answer.status_code, told


async def store(person: Person, content: str, **fields: object) -> str:
    answer = await person.client.post("/v1/memories", json={"content": content, **fields})
    assert answer.status_code == 201
    memory_id: str = answer.json()["id"]
    return memory_id


async def median_seconds(client: httpx.AsyncClient, paths: tuple[str, str]) -> list[float]:
    """Time two requests in turn; return the median of each."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(SAMPLES):
        for path, times in zip(paths, taken, strict=True):
            begin = time.perf_counter()
            assert (await client.get(path)).status_code == 404
            times.append(time.perf_counter() - begin)
    return [statistics.median(times) for times in taken]


@pytest.mark.parametrize("suffix", ["", "/history", "/neighbors"])
async def test_anothers_memory_takes_as_long_not_to_be_found_as_none(
    alice: Person, charlie: Person, suffix: str
) -> None:
    there = await store(alice, "alice keeps a long note. " * 500)
    await store(charlie, "charlie has memories too")
    nowhere = format_id(int(uuid4()) >> 66)
    paths = (f"/v1/memories/{there}{suffix}", f"/v1/memories/{nowhere}{suffix}")
    answers = [shape(await charlie.client.get(path)) for path in paths]
    assert answers[0] == answers[1]
    first, second = await median_seconds(charlie.client, paths)
    assert max(first, second) < TIME_RATIO * min(first, second)


async def test_a_cursor_of_another_organization_is_as_good_as_ones_own(alice: Person, charlie: Person) -> None:
    namespace = "shared/name"
    hidden = [await store(alice, f"hidden {number}", namespace=namespace) for number in range(3)]
    own = [await store(charlie, f"own {number}", namespace=namespace) for number in range(3)]
    query = {"namespace": namespace, "limit": "1"}
    cursors = []
    for person in (alice, charlie):
        cursors.append((await person.client.get("/v1/memories", params=query)).json()["next_cursor"])
    pages = [await charlie.client.get("/v1/memories", params={**query, "cursor": cursor}) for cursor in cursors]
    for page in pages:
        assert page.status_code == 200
        assert page.json()["total"] == len(own)
        assert not {item["id"] for item in page.json()["items"]} & set(hidden)


async def test_an_idempotency_key_of_another_key_is_not_replayed(
    app: Starlette, database: Database, alice: Person
) -> None:
    narrow = await add_key(database, alice.organization, KeyGrant(name="narrow", namespace_patterns=("open/*",)))
    headers = {"idempotency-key": "chosen-by-both"}
    body = {"content": "only in the closed namespace", "namespace": "closed/one"}
    first = await alice.client.post("/v1/memories", json=body, headers=headers)
    async with client_of(app, narrow.secret) as client:
        same = await client.post("/v1/memories", json=body, headers=headers)
        unused = await client.post("/v1/memories", json=body, headers={"idempotency-key": "chosen-by-nobody"})
        own = await client.post("/v1/memories", json={**body, "namespace": "open/one"}, headers=headers)
    assert first.status_code == 201
    assert shape(same) == shape(unused)
    assert same.status_code == 403
    assert (own.status_code, "idempotency-replayed" in own.headers) == (201, False)
    assert own.json()["id"] != first.json()["id"]


async def test_a_key_kept_out_of_a_namespace_finds_there_what_is_nowhere(
    app: Starlette, database: Database, alice: Person
) -> None:
    narrow = await add_key(database, alice.organization, KeyGrant(name="narrow", namespace_patterns=("open/*",)))
    there = await store(alice, "only in the closed namespace", namespace="closed/one")
    nowhere = format_id(int(uuid4()) >> 66)
    async with client_of(app, narrow.secret) as client:
        for suffix in ("", "/history", "/neighbors"):
            answers = [await client.get(f"/v1/memories/{one}{suffix}") for one in (there, nowhere)]
            assert answers[0].status_code == 404
            assert shape(answers[0]) == shape(answers[1])
        forgotten = [await client.post("/v1/memories/forget", json={"ids": [one]}) for one in (there, nowhere)]
        assert shape(forgotten[0]) == shape(forgotten[1])
    assert (await alice.client.get(f"/v1/memories/{there}")).status_code == 200
