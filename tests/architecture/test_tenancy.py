"""Every tenant table is confined by its column, by its indexes, and by a second lock that binds the application."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

pytestmark = pytest.mark.anyio

WITHOUT_TENANT = {"schema_migrations"}
# Read before the tenant is known, as a role that may read these tables and nothing else.
LOOKUPS = dict.fromkeys(
    (
        "find_api_key",
        "find_organization",
        "find_unindexed_namespaces",
        "find_outlived_answers",
        "find_organizations_to_serve",
        "find_namespaces_to_schedule",
        "find_organizations_to_schedule",
        "find_outlived_jobs",
        "find_namespaces_to_reembed",
        "find_jobs_of_all",
        "count_jobs_of_all",
        "find_outlived_recalls",
        "find_organizations_with_expired_memories",
        "find_due_intentions",
    ),
    "memoria_lookup",
)
# They find a tenant, or keep a secret or an address unique among all tenants.
INDEXES_ACROSS_TENANTS = {
    "organizations_own_namespace_key",
    "accounts_email_key",
    "api_keys_key_hash_key",
    "idempotent_answers_outlived_idx",
    "jobs_finished_idx",
    "jobs_dead_idx",
    "recalls_outlived_idx",
    "memories_expiry_idx",
    "intentions_due_idx",
    "intentions_expiry_idx",
}

TENANT_TABLES = """
    select c.relname, c.relrowsecurity and c.relforcerowsecurity as is_forced,
           has_table_privilege('memoria_app', c.oid, 'select') as is_readable,
           coalesce((select bool_and(coalesce(p.qual, '') || coalesce(p.with_check, '') like '%app.org_id%')
                     from pg_policies p
                     where p.tablename = c.relname and 'public' = any (p.roles)), false) as is_confined
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
"""
TABLES_WITHOUT_TENANT = """
    select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id')
"""
INDEXES_BY_SOMETHING_ELSE = """
    select i.relname from pg_index x
    join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid join pg_am m on m.oid = i.relam
    join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
    where t.relnamespace = 'public'::regnamespace and m.amname = 'btree' and a.attname <> 'org_id'
      and exists (select from pg_attribute o where o.attrelid = t.oid and o.attname = 'org_id')
"""
ROLE = "select rolsuper or rolbypassrls or rolcreaterole or rolcreatedb from pg_roles where rolname = 'memoria_app'"
OWNED = "select relname from pg_class c join pg_roles r on r.oid = c.relowner where r.rolname = 'memoria_app'"
DEFINERS = """
    select p.proname, r.rolname, exists (select from unnest(p.proconfig) c where c like 'search_path=%') as is_pinned
    from pg_proc p join pg_roles r on r.oid = p.proowner
    where p.pronamespace = 'public'::regnamespace and p.prosecdef
"""


@pytest.fixture
async def owner(owner_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(owner_url)
    yield connection
    await connection.close()


async def test_row_level_security_is_forced_on_every_tenant_table(owner: asyncpg.Connection) -> None:
    tables = await owner.fetch(TENANT_TABLES)
    assert {"organizations", "memories"} <= {table["relname"] for table in tables}
    # A partition is reached through its table, whose policy holds; by itself it must be out of reach.
    assert [t["relname"] for t in tables if t["is_readable"] and not (t["is_forced"] and t["is_confined"])] == []
    assert [t["relname"] for t in tables if not t["is_forced"] and t["is_readable"]] == []


async def test_a_table_without_a_policy_would_be_found(owner: asyncpg.Connection) -> None:
    transaction = owner.transaction()
    await transaction.start()
    await owner.execute("create table leak (org_id uuid, x int); grant select on leak to memoria_app")
    tables = await owner.fetch(TENANT_TABLES)
    await transaction.rollback()
    assert [t["relname"] for t in tables if t["is_readable"] and not (t["is_forced"] and t["is_confined"])] == ["leak"]


async def test_only_named_tables_have_no_tenant(owner: asyncpg.Connection) -> None:
    assert {row["relname"] for row in await owner.fetch(TABLES_WITHOUT_TENANT)} == WITHOUT_TENANT


async def test_the_tenant_comes_first_in_every_index(owner: asyncpg.Connection) -> None:
    assert {row["relname"] for row in await owner.fetch(INDEXES_BY_SOMETHING_ELSE)} == INDEXES_ACROSS_TENANTS


async def test_the_application_is_bound_by_row_level_security(owner: asyncpg.Connection) -> None:
    assert await owner.fetchval(ROLE) is False
    assert await owner.fetch(OWNED) == []


async def test_only_named_functions_read_before_the_tenant_is_known(owner: asyncpg.Connection) -> None:
    definers = await owner.fetch(DEFINERS)
    assert {row["proname"]: row["rolname"] for row in definers} == LOOKUPS
    assert all(row["is_pinned"] for row in definers)


async def test_without_a_tenant_no_row_of_any_table_is_seen(owner: asyncpg.Connection, postgres_url: str) -> None:
    tables = [t["relname"] for t in await owner.fetch(TENANT_TABLES) if t["is_readable"]]
    org_id = "6a1c9f5e-0000-4000-8000-000000000001"
    await owner.execute(
        "insert into organizations (org_id, name, own_namespace) values ($1, 'seen by nobody', 'org:seen-000001')",
        org_id,
    )
    application = await asyncpg.connect(postgres_url)
    try:
        rows = {table: await application.fetchval(f"table {table} limit 1") for table in tables}
        assert set(rows.values()) == {None}
        async with application.transaction():
            await application.execute(f"set local app.org_id = '{org_id}'")
            assert await application.fetchval("select count(*) from organizations") == 1
    finally:
        await application.close()
        await owner.execute("delete from organizations where org_id = $1", org_id)
