"""A key opens what it was made for, from its making to its end, and is never kept anywhere."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from starlette.applications import Starlette

from accounts.keys import KeyGrant, revoke_key
from memoria.database import Database
from memoria.vocabulary import Scope
from tests.people import Person, add_key, client_of

pytestmark = pytest.mark.anyio

READ_WRITE = frozenset({Scope.READ, Scope.WRITE})


async def status_of(app: Starlette, secret: str, namespace: str | None = None) -> int:
    """Show a key and answer the status of a harmless call."""
    async with client_of(app, secret) as client:
        params = {"namespace": namespace} if namespace else {}
        return (await client.get("/v1/stats", params=params)).status_code


async def test_a_revoked_key_is_refused_on_its_next_request(app: Starlette, database: Database, alice: Person) -> None:
    assert await status_of(app, alice.key.secret) == 200
    async with database.tenant(alice.organization.org_id) as connection:
        await revoke_key(connection, alice.organization.org_id, alice.key.key_id, datetime.now(UTC))
    assert await status_of(app, alice.key.secret) == 401


async def test_an_expired_key_is_refused(app: Starlette, database: Database, alice: Person) -> None:
    now = datetime.now(UTC)
    past = await add_key(database, alice.organization, KeyGrant(expires_at=now - timedelta(seconds=1)))
    future = await add_key(database, alice.organization, KeyGrant(expires_at=now + timedelta(hours=1)))
    assert await status_of(app, past.secret) == 401
    assert await status_of(app, future.secret) == 200


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer ", "Basic abc", "Bearer mem_dev_unknown", "mem_dev_x"])
async def test_what_is_no_key_is_refused_and_told_where_to_look(app: Starlette, shown: str) -> None:
    async with client_of(app) as client:
        answer = await client.get("/v1/stats", headers={"authorization": shown})
    assert answer.status_code == 401
    assert answer.json()["code"] == "UNAUTHORIZED"
    assert answer.headers["www-authenticate"] == (
        'Bearer resource_metadata="http://memoria.test/.well-known/oauth-protected-resource/v1/mcp"'
    )


async def test_unknown_revoked_and_expired_keys_get_the_same_words(
    app: Starlette, database: Database, alice: Person
) -> None:
    expired = await add_key(database, alice.organization, KeyGrant(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    revoked = await add_key(database, alice.organization, KeyGrant())
    async with database.tenant(alice.organization.org_id) as connection:
        await revoke_key(connection, alice.organization.org_id, revoked.key_id, datetime.now(UTC))
    messages = set()
    for secret in (expired.secret, revoked.secret, "mem_dev_" + "x" * 43):
        async with client_of(app, secret) as client:
            messages.add((await client.get("/v1/stats")).json()["message"])
    assert len(messages) == 1


async def test_a_reading_key_cannot_write(bob: Person, alice: Person) -> None:
    stored = await alice.client.post("/v1/memories", json={"content": "we deploy on Fridays"})
    memory_id = stored.json()["id"]
    assert (await bob.client.get(f"/v1/memories/{memory_id}")).status_code == 200
    for refused in (
        await bob.client.post("/v1/memories", json={"content": "x"}),
        await bob.client.patch(f"/v1/memories/{memory_id}", json={"content": "x"}),
        await bob.client.delete(f"/v1/memories/{memory_id}"),
        await bob.client.post(f"/v1/memories/{memory_id}/archive"),
        await bob.client.post("/v1/memories/forget", json={"ids": [memory_id]}),
    ):
        assert refused.status_code == 403
        assert refused.json()["code"] == "FORBIDDEN"


async def test_a_writing_key_cannot_read(app: Starlette, database: Database, alice: Person) -> None:
    key = await add_key(database, alice.organization, KeyGrant(scopes=frozenset({Scope.WRITE})))
    async with client_of(app, key.secret) as client:
        assert (await client.post("/v1/memories", json={"content": "write only"})).status_code == 201
        assert (await client.post("/v1/memories/recall", json={"query": "write"})).status_code == 403
        assert (await client.get("/v1/memories")).status_code == 403


async def test_a_key_stays_inside_its_namespaces(app: Starlette, database: Database, alice: Person) -> None:
    grant = KeyGrant(scopes=READ_WRITE, namespace_patterns=("support/*", "shared"), default_namespace="support/first")
    key = await add_key(database, alice.organization, grant)
    outside = (await alice.client.post("/v1/memories", json={"content": "outside", "namespace": "plans"})).json()["id"]
    async with client_of(app, key.secret) as client:
        assert (await client.get("/v1/stats")).json()["namespace"] == "support/first"
        for namespace, status in (("support/x", 200), ("shared", 200), ("sharedx", 403), ("plans", 403)):
            assert (await client.get("/v1/stats", params={"namespace": namespace})).status_code == status
        assert (await client.get(f"/v1/memories/{outside}")).status_code == 404
        assert (await client.delete(f"/v1/memories/{outside}")).status_code == 404
    assert (await alice.client.get(f"/v1/memories/{outside}")).status_code == 200


async def test_the_namespace_header_is_between_the_body_and_the_default(alice: Person) -> None:
    header = {"x-memoria-namespace": "from-header"}
    by_header = await alice.client.post("/v1/memories", json={"content": "a"}, headers=header)
    by_body = await alice.client.post("/v1/memories", json={"content": "b", "namespace": "from-body"}, headers=header)
    by_default = await alice.client.post("/v1/memories", json={"content": "c"})
    assert by_header.json()["namespace"] == "from-header"
    assert by_body.json()["namespace"] == "from-body"
    assert by_default.json()["namespace"] == alice.namespace


async def test_only_the_hash_of_a_key_is_stored(owner_url: str, alice: Person) -> None:
    owner = await asyncpg.connect(owner_url)
    try:
        row = await owner.fetchval("select row_to_json(k)::text from api_keys k where key_id = $1", alice.key.key_id)
    finally:
        await owner.close()
    assert alice.key.secret not in row
    assert alice.key.secret[len("mem_dev_") + 4 :] not in row


async def test_the_last_use_is_written_in_one_go(app: Starlette, database: Database, alice: Person) -> None:
    await status_of(app, alice.key.secret)
    await app.state.services.key_uses.flush(database)
    async with database.tenant(alice.organization.org_id) as connection:
        rows = await connection.fetch("list_keys", org_id=alice.organization.org_id)
    assert rows[0]["last_used_at"] is not None
