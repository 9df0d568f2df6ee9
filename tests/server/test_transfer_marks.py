"""What did not help, and what must not be merged again, goes out and comes in with its namespace."""

import json
from typing import Any

import pytest

from tests.people import Person

pytestmark = pytest.mark.anyio

HEADERS = {"content-type": "application/x-ndjson"}
QUERY = "what is the number of the release?"


async def store(person: Person, *contents: str) -> list[str]:
    body = {"memories": [{"content": content, "namespace": "n"} for content in contents]}
    answer = await person.client.post("/v1/memories/batch", json=body)
    assert answer.status_code == 201
    ids: list[str] = answer.json()["ids"]
    return ids


async def export(person: Person, namespace: str = "n") -> list[dict[str, Any]]:
    answer = await person.client.get("/v1/export", params={"namespace": namespace})
    return [json.loads(line) for line in answer.text.splitlines()]


async def take(person: Person, lines: list[dict[str, Any]], namespace: str = "n") -> dict[str, Any]:
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    answer = await person.client.post("/v1/import", params={"namespace": namespace}, content=body, headers=HEADERS)
    assert answer.status_code == 200
    imported: dict[str, Any] = answer.json()
    return imported


async def dampening_of(person: Person, namespace: str, content: str) -> float:
    asked = {"query": QUERY, "namespace": namespace, "explain": True, "learn": False}
    answer = (await person.client.post("/v1/memories/recall", json=asked)).json()
    factor: float = next(each["factors"]["dampening"] for each in answer["candidates"] if each["content"] == content)
    return factor


async def test_what_did_not_help_is_dampened_wherever_it_is_taken(alice: Person, charlie: Person) -> None:
    [first, _] = await store(alice, "The release number is 4.2", "The release party is on Monday")
    await alice.client.post(f"/v1/memories/{first}/dampen", json={"query": QUERY})
    lines = await export(alice)
    assert lines[0]["counts"]["dampenings"] == lines[-1]["counts"]["dampenings"] == 1
    done = await take(charlie, lines)
    assert (done["imported"]["dampenings"], done["refused"]) == (1, 0)
    assert await dampening_of(charlie, "n", "The release number is 4.2") == 0.5
    assert await dampening_of(charlie, "n", "The release party is on Monday") == 1.0
    assert [line for line in await export(charlie) if line["kind"] == "Dampening"] == [
        line for line in lines if line["kind"] == "Dampening"
    ]


async def test_a_copy_in_another_namespace_is_dampened_as_well_and_once(alice: Person) -> None:
    [first] = await store(alice, "The release number is 4.2")
    await alice.client.post(f"/v1/memories/{first}/dampen", json={"query": QUERY})
    lines = await export(alice)
    assert (await take(alice, lines))["skipped"]["dampenings"] == 1
    assert (await take(alice, lines, "copy"))["imported"]["dampenings"] == 1
    assert (await take(alice, lines, "copy"))["skipped"]["dampenings"] == 1
    assert await dampening_of(alice, "copy", "The release number is 4.2") == 0.5


async def test_marks_on_what_is_not_there_are_refused(alice: Person, charlie: Person) -> None:
    [first] = await store(alice, "The release number is 4.2")
    await alice.client.post(f"/v1/memories/{first}/dampen", json={"query": QUERY})
    lines = [line for line in await export(alice) if line["kind"] != "Memory"]
    refused = {"kind": "RefusedMerge", "group": "7", "memory_id": first, "detector": "repetition"}
    lines.insert(-1, refused | {"at": "2026-05-01T09:00:00Z"})
    done = await take(charlie, lines)
    assert done["imported"]["dampenings"] == done["imported"]["refused_merges"] == 0
    assert {refusal["code"] for refusal in done["refusals"]} == {"NOT_FOUND"}


async def test_a_mark_of_a_memory_that_differs_here_is_refused(alice: Person) -> None:
    [first] = await store(alice, "The release number is 4.2")
    await alice.client.post(f"/v1/memories/{first}/dampen", json={"query": QUERY})
    lines = await export(alice)
    await alice.client.patch(f"/v1/memories/{first}", json={"title": "Release"})
    done = await take(alice, lines)
    assert "CONFLICT" in {refusal["code"] for refusal in done["refusals"]}
    assert done["imported"]["dampenings"] == done["skipped"]["dampenings"] == 0


@pytest.mark.parametrize("group", ["", "seven", "-1", "9" * 30, "\u0667", 7])
async def test_a_group_is_a_number_in_quotes(alice: Person, group: Any) -> None:
    [first] = await store(alice, "The release number is 4.2")
    line = {"kind": "RefusedMerge", "group": group, "memory_id": first, "detector": "repetition"}
    done = await take(alice, [line | {"at": "2026-05-01T09:00:00Z"}])
    assert (done["refused"], done["imported"]["refused_merges"]) == (1, 0)


async def test_what_was_taken_apart_stays_apart_wherever_it_is_taken(alice: Person, charlie: Person) -> None:
    said = [f"The cat of the house sleeps on the sofa{end}" for end in (".", "!", " .", "..")]
    await store(alice, *said)
    consolidate = {"namespace": "n", "wait": True}
    done = (await alice.client.post("/v1/consolidate", json=consolidate)).json()
    assert done["repetition"]["summaries"] == 1
    [summary] = [line["id"] for line in await export(alice) if line.get("summary")]
    assert (await alice.client.post(f"/v1/memories/{summary}/unconsolidate")).status_code == 200
    lines = await export(alice)
    assert [line["kind"] for line in lines].count("RefusedMerge") == lines[-1]["counts"]["refused_merges"] == 3
    assert (await take(charlie, lines))["imported"]["refused_merges"] == 3
    assert (await take(charlie, lines))["skipped"]["refused_merges"] == 3
    again = (await charlie.client.post("/v1/consolidate", json=consolidate)).json()
    assert (again["considered"], again["repetition"]["summaries"]) == (4, 0)


async def test_a_summary_that_an_older_export_brought_back_is_undone_once_more(alice: Person) -> None:
    await store(alice, *(f"The cat of the house sleeps on the sofa{end}" for end in (".", "!", " .", "..")))
    await alice.client.post("/v1/consolidate", json={"namespace": "n", "wait": True})
    lines = await export(alice)
    [summary] = [line["id"] for line in lines if line.get("summary")]
    assert (await alice.client.post(f"/v1/memories/{summary}/unconsolidate")).status_code == 200
    assert (await take(alice, lines))["imported"]["memories"] == 1
    assert (await alice.client.post(f"/v1/memories/{summary}/unconsolidate")).status_code == 200
