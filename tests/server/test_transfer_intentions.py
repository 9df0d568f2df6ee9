"""Intentions go out and come in with their namespace, as they stand."""

import json
from typing import Any

import pytest

from tests.people import Person

pytestmark = pytest.mark.anyio

HEADERS = {"content-type": "application/x-ndjson"}
TRIGGERS: dict[str, dict[str, Any]] = {
    "words": {"type": "Keyword", "any": ["release"], "all": ["shop"]},
    "clock": {"type": "Time", "at": "2020-03-01T09:00:00Z", "every": "P1D", "time_zone": "Europe/Berlin"},
    "over": {"type": "Time", "at": "2024-03-01T09:00:00Z"},
    "meaning": {"type": "Semantic", "text": "the shop closes for good", "threshold": 0.8},
    "event": {"type": "Event", "name": "deploy.finished"},
}


async def make(person: Person, namespace: str = "n") -> dict[str, dict[str, Any]]:
    """Store one intention of each kind, one of them triggered, told and completed."""
    made = {}
    for name, trigger in TRIGGERS.items():
        body = {"content": f"remember {name}", "trigger": trigger, "namespace": namespace, "priority": 0.7}
        answer = await person.client.post("/v1/intentions", json=body)
        assert answer.status_code == 201
        made[name] = answer.json()
    told = await person.client.post("/v1/intentions/check", json={"event": "deploy.finished", "namespace": namespace})
    assert {each["content"] for each in told.json()["triggered"]} >= {"remember event", "remember over"}
    assert (await person.client.post(f"/v1/intentions/{made['over']['id']}/complete")).status_code == 200
    return made


async def export(person: Person, namespace: str = "n") -> list[dict[str, Any]]:
    answer = await person.client.get("/v1/export", params={"namespace": namespace})
    return [json.loads(line) for line in answer.text.splitlines()]


async def take(person: Person, lines: list[dict[str, Any]], namespace: str = "n") -> dict[str, Any]:
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    answer = await person.client.post("/v1/import", params={"namespace": namespace}, content=body, headers=HEADERS)
    assert answer.status_code == 200
    imported: dict[str, Any] = answer.json()
    return imported


async def listed(person: Person, namespace: str = "n") -> list[dict[str, Any]]:
    answer = await person.client.get("/v1/intentions", params={"namespace": namespace})
    return [{name: value for name, value in each.items() if name != "namespace"} for each in answer.json()["items"]]


async def test_intentions_come_to_another_organization_as_they_are(alice: Person, charlie: Person) -> None:
    await make(alice)
    lines = await export(alice)
    assert lines[0]["counts"]["intentions"] == lines[-1]["counts"]["intentions"] == len(TRIGGERS)
    done = await take(charlie, lines)
    assert (done["imported"]["intentions"], done["refused"]) == (len(TRIGGERS), 0)
    assert await listed(charlie) == await listed(alice)
    assert [line for line in await export(charlie) if line["kind"] == "Intention"] == [
        line for line in lines if line["kind"] == "Intention"
    ]


async def test_what_was_told_is_not_told_again_and_what_waits_is_triggered(alice: Person, charlie: Person) -> None:
    await make(alice)
    await take(charlie, await export(alice))
    check = {"event": "deploy.finished", "text": "the shop closes for good", "namespace": "n"}
    triggered = (await charlie.client.post("/v1/intentions/check", json=check)).json()["triggered"]
    assert [each["content"] for each in triggered] == ["remember meaning"]


async def test_the_same_export_twice_changes_nothing(alice: Person) -> None:
    await make(alice)
    before, lines = await listed(alice), await export(alice)
    done = await take(alice, lines)
    assert done["skipped"]["intentions"] == len(TRIGGERS)
    assert done["imported"]["intentions"] == done["refused"] == 0
    assert await listed(alice) == before


async def test_a_copy_beside_the_original_gets_its_own_ids_and_only_once(alice: Person) -> None:
    await make(alice)
    lines = await export(alice)
    assert (await take(alice, lines, "copy"))["imported"]["intentions"] == len(TRIGGERS)
    assert (await take(alice, lines, "copy"))["skipped"]["intentions"] == len(TRIGGERS)
    own, copied = await listed(alice), await listed(alice, "copy")
    assert {each["id"] for each in own}.isdisjoint(each["id"] for each in copied)
    assert sorted(each["content"] for each in own) == sorted(each["content"] for each in copied)


async def test_an_intention_that_was_changed_stays_and_the_line_is_refused(alice: Person) -> None:
    made = await make(alice)
    lines = await export(alice)
    path = f"/v1/intentions/{made['words']['id']}"
    await alice.client.patch(path, json={"content": "remember it otherwise"})
    done = await take(alice, lines)
    assert [refusal["code"] for refusal in done["refusals"]] == ["CONFLICT"]
    assert (await alice.client.get(path)).json()["content"] == "remember it otherwise"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("id", "mem_0000000000000"),
        ("trigger", {"type": "Time", "at": "2020-03-01T09:00:00Z", "every": "P0D"}),
        ("trigger", {"type": "Moon"}),
        ("priority", 2),
        ("status", "Forgotten"),
        ("created_at", "2999-01-01T00:00:00Z"),
        ("triggered_count", -1),
    ],
)
async def test_a_line_that_is_wrong_is_refused_and_the_others_are_taken(
    alice: Person, charlie: Person, field: str, value: Any
) -> None:
    await make(alice)
    lines = await export(alice)
    place = next(place for place, line in enumerate(lines) if line["kind"] == "Intention")
    lines[place][field] = value
    done = await take(charlie, lines)
    assert [refusal["line"] for refusal in done["refusals"]] == [place + 1]
    assert done["imported"]["intentions"] == len(TRIGGERS) - 1


async def test_a_file_cannot_let_the_clock_trigger_what_waits_for_words(alice: Person, charlie: Person) -> None:
    await make(alice)
    lines = await export(alice)
    for line in lines:
        if line["kind"] == "Intention" and line["trigger"]["type"] == "Keyword":
            line["next_at"] = "2020-01-01T00:00:00Z"
    await take(charlie, lines)
    assert all(each["next_at"] is None for each in await listed(charlie) if each["trigger"]["type"] == "Keyword")


async def test_an_export_of_before_there_were_intentions_is_taken(alice: Person, charlie: Person) -> None:
    await alice.client.post("/v1/memories", json={"content": "a note", "namespace": "n"})
    lines = await export(alice)
    for line in (lines[0], lines[-1]):
        del line["counts"]["intentions"]
    done = await take(charlie, lines)
    assert (done["complete"], done["refused"], done["imported"]["memories"]) == (True, 0, 1)
