"""A namespace's policy is read, set and applied over HTTP, whatever its name."""

from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette

from accounts.keys import KeyGrant
from memoria.database import Database
from memoria.vocabulary import Scope
from tests.people import Person, add_key, client_of

pytestmark = pytest.mark.anyio

DEFAULTS = {
    "half_life_days": {"Buffer": 7.0, "Episodic": 30.0, "Semantic": 180.0, "Core": 365.0},
    "prune_threshold": 0.05,
    "max_memories": None,
    "enabled": True,
    "delete_archived_after_days": None,
}


def policy_url(namespace: str, *, encoded: bool = True) -> str:
    return f"/v1/namespaces/{quote(namespace, safe='') if encoded else namespace}/policy"


async def age(database: Database, person: Person, days: int) -> None:
    """Let a person's memories lie idle."""
    async with database.tenant(person.organization.org_id) as connection:
        await connection._raw.execute(
            "update memories set last_accessed_at = last_accessed_at - make_interval(days => $1)", days
        )


@pytest.mark.parametrize("namespace", ["notes", "code/myapp", "user:a/b/policy", "policy", "a/policy/policy"])
async def test_a_policy_is_set_and_read_under_any_name(alice: Person, namespace: str) -> None:
    url = policy_url(namespace)
    assert (await alice.client.get(url)).json() == {"namespace": namespace, **DEFAULTS}
    body = {"half_life_days": {"Buffer": 14}, "max_memories": 100, "delete_archived_after_days": 90, "enabled": False}
    answer = await alice.client.put(url, json=body)
    assert answer.status_code == 200
    wanted = DEFAULTS | body | {"half_life_days": DEFAULTS["half_life_days"] | {"Buffer": 14.0}}  # type: ignore[operator]
    assert answer.json() == (await alice.client.get(url)).json() == {"namespace": namespace, **wanted}
    assert (await alice.client.put(url, json={})).json() == {"namespace": namespace, **DEFAULTS}


async def test_slashes_of_a_name_may_stand_as_they_are(alice: Person) -> None:
    await alice.client.put(policy_url("code/shop"), json={"max_memories": 5})
    answer = await alice.client.get(policy_url("code/shop", encoded=False))
    assert (answer.json()["namespace"], answer.json()["max_memories"]) == ("code/shop", 5)


async def test_a_name_that_ends_like_the_path_is_no_policy(alice: Person) -> None:
    answer = await alice.client.get("/v1/namespaces/code%2Fpolicy")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE")


async def test_a_malformed_name_is_refused(alice: Person) -> None:
    for name in ("a%20b", "", "%00", "a%0Ab", "a" * 201):
        answer = await alice.client.get(f"/v1/namespaces/{name}/policy")
        assert (answer.status_code, answer.json()["details"]["field"]) == (422, "namespace")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prune_threshold": 1}, "prune_threshold"),
        ({"half_life_days": {"Buffer": 0}}, "half_life_days.Buffer"),
        ({"half_life_days": {"Attic": 1}}, "half_life_days.Attic"),
        ({"half_life_days": None}, "half_life_days"),
        ({"max_memories": 0}, "max_memories"),
        ({"max_memories": 1.5}, "max_memories"),
        ({"delete_archived_after_days": 0}, "delete_archived_after_days"),
        ({"namespace": 1}, "namespace"),
    ],
)
async def test_a_wrong_value_is_named(alice: Person, body: dict[str, object], field: str) -> None:
    calls: list[httpx.Response] = [
        await alice.client.put(policy_url("n"), json=body),
        await alice.client.post("/v1/memories/prune", json=body),
    ]
    assert [(answer.status_code, answer.json()["details"]["field"]) for answer in calls] == [(422, field)] * 2


async def test_changing_a_policy_takes_the_scope_admin(app: Starlette, alice: Person, bob: Person) -> None:
    database = app.state.services.engine.database
    grant = KeyGrant(name="writer", scopes=frozenset({Scope.READ, Scope.WRITE}))
    async with client_of(app, (await add_key(database, alice.organization, grant)).secret) as writer:
        assert (await writer.put(policy_url("n"), json={})).json()["details"] == {"scope": "admin"}
        assert (await writer.get(policy_url("n"))).status_code == 200
        assert (await writer.post("/v1/memories/prune", json={})).status_code == 200
    assert (await bob.client.get(policy_url("n"))).status_code == 200
    assert (await bob.client.post("/v1/memories/prune", json={"dry_run": True})).status_code == 403


async def test_a_prune_counts_first_and_archives_then(alice: Person, database: Database) -> None:
    for number in range(3):
        await alice.client.post("/v1/memories", json={"content": f"Idle talk {number}", "namespace": "n"})
    await alice.client.post("/v1/memories", json={"content": "The first contract", "namespace": "n", "pinned": True})
    await age(database, alice, 40)
    body = {"namespace": "n", "dry_run": True}
    counted = {"namespace": "n", "migrated": {"up": 0, "down": 0}, "archived": 3, "deleted": 0, "remaining": 1}
    for _ in range(2):
        assert (await alice.client.post("/v1/memories/prune", json=body)).json() == {**counted, "dry_run": True}
    kept = await alice.client.post("/v1/memories/prune", json={"namespace": "n", "prune_threshold": 0.01})
    assert (kept.json()["archived"], kept.json()["remaining"]) == (0, 4)
    headers = {"Idempotency-Key": "once"}
    done = await alice.client.post("/v1/memories/prune", json={"namespace": "n"}, headers=headers)
    assert done.json() == {**counted, "dry_run": False}
    again = await alice.client.post("/v1/memories/prune", json={"namespace": "n"}, headers=headers)
    assert (again.json(), again.headers["idempotency-replayed"]) == (done.json(), "true")
    page = await alice.client.get("/v1/memories", params={"namespace": "n"})
    assert [item["content"] for item in page.json()["items"]] == ["The first contract"]
    archived = await alice.client.get("/v1/memories", params={"namespace": "n", "include": "archived"})
    assert archived.json()["total"] == 4


async def test_a_policy_that_is_off_is_applied_on_demand_unless_told_off(alice: Person, database: Database) -> None:
    await alice.client.post("/v1/memories", json={"content": "Idle talk", "namespace": "n"})
    await alice.client.put(policy_url("n"), json={"enabled": False})
    await age(database, alice, 40)
    off = await alice.client.post("/v1/memories/prune", json={"namespace": "n", "enabled": False})
    assert (off.json()["archived"], off.json()["remaining"]) == (0, 1)
    assert (await alice.client.post("/v1/memories/prune", json={"namespace": "n"})).json()["archived"] == 1


async def test_a_limit_of_the_policy_is_lifted_for_once_by_null(alice: Person) -> None:
    for number in range(3):
        await alice.client.post("/v1/memories", json={"content": f"Note {number}", "namespace": "n"})
    await alice.client.put(policy_url("n"), json={"max_memories": 2})
    lifted = await alice.client.post("/v1/memories/prune", json={"namespace": "n", "max_memories": None})
    assert lifted.json()["archived"] == 0
    assert (await alice.client.post("/v1/memories/prune", json={"namespace": "n"})).json()["archived"] == 1


async def test_a_namespace_that_does_not_exist_is_empty(alice: Person) -> None:
    answer = await alice.client.post("/v1/memories/prune", json={"namespace": "nowhere"})
    assert (answer.status_code, answer.json()["remaining"]) == (200, 0)
    names = [item["name"] for item in (await alice.client.get("/v1/namespaces")).json()["items"]]
    assert "nowhere" not in names
