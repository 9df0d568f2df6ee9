"""The database itself keeps organizations apart, whatever the code above it asks."""

from uuid import uuid4

import asyncpg
import pytest

from memoria.migrations import load_migrations, migrate
from server.embedded import EmbeddedServers
from tests.architecture.test_tenancy import LOOKUPS
from tests.conftest import create_database
from tests.people import Person

pytestmark = pytest.mark.anyio

# Tables that hold nothing of any tenant.
SHARED_TABLES = {"schema_migrations"}


async def tenant_tables(connection: asyncpg.Connection) -> list[str]:
    """Name every table that has an org_id."""
    rows = await connection.fetch(
        "select relname from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'org_id'"
        " where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1"
    )
    return [row["relname"] for row in rows]


async def test_without_a_tenant_no_table_shows_a_row(postgres_url: str, owner_url: str, alice: Person) -> None:
    await alice.client.post("/v1/memories", json={"content": "deploy on Fridays"})
    owner, application = await asyncpg.connect(owner_url), await asyncpg.connect(postgres_url)
    try:
        tables = await tenant_tables(owner)
        assert {"organizations", "accounts", "api_keys"} < set(tables)
        for table in tables:
            assert await application.fetchval(f"select count(*) from {table}") == 0, table  # noqa: S608
    finally:
        await owner.close()
        await application.close()


async def test_a_partition_cannot_be_read_past_the_policy_of_its_table(owner_url: str) -> None:
    owner = await asyncpg.connect(owner_url)
    try:
        readable = await owner.fetch(
            "select relname from pg_class where relispartition and relkind = 'r'"
            " and not (relrowsecurity and relforcerowsecurity)"
            " and has_table_privilege('memoria_app', oid, 'select, insert, update, delete')"
        )
        assert [row["relname"] for row in readable] == []
    finally:
        await owner.close()


async def test_a_tenant_sees_its_own_rows_only(postgres_url: str, alice: Person, charlie: Person) -> None:
    application = await asyncpg.connect(postgres_url)
    try:
        await application.execute(f"set app.org_id = '{alice.organization.org_id}'")
        rows = await application.fetch("select org_id from api_keys")
        assert {row["org_id"] for row in rows} == {alice.organization.org_id}
    finally:
        await application.close()


async def test_a_tenant_cannot_write_rows_of_another(postgres_url: str, alice: Person, charlie: Person) -> None:
    application = await asyncpg.connect(postgres_url)
    try:
        await application.execute(f"set app.org_id = '{charlie.organization.org_id}'")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await application.execute(
                "insert into api_keys (org_id, key_id, key_hash, key_prefix, name, scopes)"
                " values ($1, $2, sha256('x'), 'x', 'x', '{read}')",
                alice.organization.org_id,
                uuid4(),
            )
        moved = await application.execute(
            "update api_keys set revoked_at = now() where org_id = $1", alice.organization.org_id
        )
        assert moved == "UPDATE 0"
    finally:
        await application.close()


async def test_every_table_of_tenants_forces_its_policy(owner_url: str) -> None:
    owner = await asyncpg.connect(owner_url)
    try:
        rows = await owner.fetch(
            "select relname, relrowsecurity, relforcerowsecurity from pg_class"
            " where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition"
        )
        tenants = set(await tenant_tables(owner))
        open_tables = {row["relname"] for row in rows if not (row["relrowsecurity"] and row["relforcerowsecurity"])}
        assert open_tables & tenants == set()
        assert {row["relname"] for row in rows} - tenants <= SHARED_TABLES
    finally:
        await owner.close()


async def test_the_application_owns_nothing_and_bypasses_nothing(owner_url: str) -> None:
    owner = await asyncpg.connect(owner_url)
    try:
        role = await owner.fetchrow("select * from pg_roles where rolname = 'memoria_app'")
        assert role is not None
        assert not (role["rolsuper"] or role["rolbypassrls"] or role["rolcreaterole"] or role["rolcreatedb"])
        assert await owner.fetchval("select count(*) from pg_class where relowner = 'memoria_app'::regrole") == 0
    finally:
        await owner.close()


async def test_only_the_named_functions_read_before_the_tenant_is_known(owner_url: str) -> None:
    owner = await asyncpg.connect(owner_url)
    try:
        rows = await owner.fetch(
            "select proname, proconfig, proowner::regrole::text as owner from pg_proc"
            " where prosecdef and pronamespace = 'public'::regnamespace"
        )
        assert {row["proname"] for row in rows} == set(LOOKUPS)
        for row in rows:
            assert row["owner"] == "memoria_lookup"
            assert row["proconfig"] == ["search_path=pg_catalog, public, pg_temp"]
    finally:
        await owner.close()


# What an administrator grants beforehand, and what Postgres 16 grants to a role that creates another.
PREPARED = {"granted": "", "created": " with admin option, inherit false, set false"}


@pytest.mark.parametrize("prepared", PREPARED)
async def test_the_policies_bind_an_owner_that_is_no_superuser(
    servers: EmbeddedServers, worker_id: str, prepared: str
) -> None:
    role, name = f"owner_{prepared}_{worker_id}", f"memoria_{prepared}_{worker_id}"
    create_database(servers, name)
    superuser = await asyncpg.connect(servers.database_url_of(name))
    try:
        await superuser.execute("create extension vector")
        await superuser.execute(f"create role {role} login nosuperuser")
        await superuser.execute(f"grant memoria_app, memoria_lookup to {role}{PREPARED[prepared]}")
        await superuser.execute(f"grant all on schema public to {role} with grant option")
        await superuser.execute(f"alter database {name} owner to {role}")
    finally:
        await superuser.close()
    owner = await asyncpg.connect(servers.database_url_of(name, role=role))
    try:
        assert await migrate(owner) == [migration.name for migration in load_migrations()]
        org_id = uuid4()
        await owner.execute(f"set app.org_id = '{org_id}'")
        await owner.execute(
            "insert into organizations (org_id, name, own_namespace) values ($1, 'x', $2)",
            org_id,
            f"org:x-{org_id.hex[:6]}",
        )
        await owner.execute(
            "insert into api_keys (org_id, key_id, key_hash, key_prefix, name, scopes)"
            " values ($1, $1, sha256('x'), 'x', 'x', '{read}')",
            org_id,
        )
        await owner.execute("reset app.org_id")
        # A plain grant beforehand lets the owner read what the lookups read; its own grant does not.
        assert await owner.fetchval("select count(*) from organizations") == (1 if prepared == "granted" else 0)
        await owner.execute("set role memoria_app")
        assert await owner.fetchval("select count(*) from organizations") == 0
        assert await owner.fetchval("select org_id from find_api_key(sha256('x'))") == org_id
        assert await owner.fetchval("select count(*) from find_api_key(sha256('y'))") == 0
    finally:
        await owner.close()
