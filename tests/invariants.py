"""What must hold in every tenant's tables after any sequence of calls, however they raced or failed."""

from typing import Any

from tests.tenants import Tenant

# Each query returns what breaks the sentence.
BROKEN = {
    "a namespace counts its memories": """
        select n.name, n.memory_count, count(m.memory_id) from namespaces n
        left join memories m on m.org_id = n.org_id and m.namespace_id = n.namespace_id
        where n.org_id = $1 group by n.org_id, n.namespace_id having n.memory_count <> count(m.memory_id)""",
    "a namespace sums the lengths of its memories": """
        select n.name, n.term_count, sum(m.term_count) from namespaces n
        left join memories m on m.org_id = n.org_id and m.namespace_id = n.namespace_id
        where n.org_id = $1 group by n.org_id, n.namespace_id having n.term_count <> coalesce(sum(m.term_count), 0)""",
    "a namespace counts its vectors": """
        select n.name, n.embedding_count, count(e.memory_id) from namespaces n
        left join embeddings e on e.org_id = n.org_id and e.namespace_id = n.namespace_id
        where n.org_id = $1 group by n.org_id, n.namespace_id having n.embedding_count <> count(e.memory_id)""",
    "the lexical index holds exactly the terms that each memory names": """
        select m.memory_id from memories m
        left join lateral (
            select coalesce(array_agg(p.term order by p.term), '{}') as terms from postings p
            where p.org_id = m.org_id and p.namespace_id = m.namespace_id and p.memory_id = m.memory_id
        ) held on true
        where m.org_id = $1 and held.terms <> array(select unnest(m.terms) order by 1)""",
    "a posting knows its memory's length": """
        select p.memory_id, p.term from postings p
        join memories m on m.org_id = p.org_id and m.memory_id = p.memory_id
        where p.org_id = $1 and (p.length <> m.term_count or p.frequency < 1)""",
    "passages are numbered from 0": """
        select e.memory_id from embeddings e where e.org_id = $1
        group by e.memory_id having max(e.passage) <> count(*) - 1""",
    "a memory has a vector unless its parts or members have them": """
        select m.memory_id from memories m where m.org_id = $1
          and not (m.source is not distinct from 'system' and m.type = 'Episodic')
          and not exists (select from embeddings e where e.org_id = m.org_id and e.memory_id = m.memory_id)
          and not exists (select from memories p where p.org_id = m.org_id and p.part_of = m.memory_id)""",
    "a part is joined to its document, in the same namespace, tier and state": """
        select p.memory_id from memories p
        join memories d on d.org_id = p.org_id and d.memory_id = p.part_of
        where p.org_id = $1 and (p.namespace_id <> d.namespace_id or p.state <> d.state or p.tier <> d.tier
            or not exists (
            select from edges e where e.org_id = p.org_id and e.source_id = p.memory_id
            and e.target_id = d.memory_id and e.type = 'PartOf'))""",
    "a summary in use has members, of its namespace, that it supersedes": """
        select s.summary_id, sm.member_id from summaries s
        left join summary_members sm on sm.org_id = s.org_id and sm.summary_id = s.summary_id
        left join memories m on m.org_id = sm.org_id and m.memory_id = sm.member_id
        where s.org_id = $1 and s.adopted_at is null and (
            m.namespace_id is distinct from s.namespace_id
            or s.detector = 'repetition' and (m.state = 'active' or not exists (
                select from edges e where e.org_id = s.org_id and e.source_id = s.summary_id
                and e.target_id = sm.member_id and e.type = 'Supersedes'))
            or s.detector = 'burst' and not exists (
                select from edges e where e.org_id = s.org_id and e.source_id = sm.member_id
                and e.target_id = s.summary_id and e.type = 'PartOf'))""",
    "an edge joins two memories of its namespace": """
        select e.source_id, e.target_id, e.type from edges e
        left join memories s on s.org_id = e.org_id and s.memory_id = e.source_id
        left join memories t on t.org_id = e.org_id and t.memory_id = e.target_id
        where e.org_id = $1 and (s.namespace_id is distinct from e.namespace_id
            or t.namespace_id is distinct from e.namespace_id or e.source_id = e.target_id)""",
    "every edit made a version and an event": """
        select m.memory_id, m.version from memories m where m.org_id = $1 and m.version <> 1 + (
            select count(*) from memory_events v
            where v.org_id = m.org_id and v.memory_id = m.memory_id and v.event = 'edited')""",
    "an idempotency key that was committed has its answer": """
        select a.key from idempotent_answers a where a.org_id = $1 and a.answer is null""",
}
# Every column of every table that can name a memory.
ID_COLUMNS = """
    select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attname in ('memory_id', 'source_id', 'target_id', 'part_of') order by 1, 2
"""


async def rows_about(tenant: Tenant, memory_id: int) -> dict[str, int]:
    """Count the rows of every table that name a memory; the tables are read from the catalog."""
    counts = {}
    for table, column in await tenant.fetch(ID_COLUMNS):
        found = await tenant.fetch(f"select count(*) from {table} where {column} = $1", memory_id)  # noqa: S608
        counts[f"{table}.{column}"] = found[0][0]
    return counts


async def orphans(tenant: Tenant) -> dict[str, list[Any]]:
    """Find ids in any table that no memory has."""
    found = {}
    for table, column in await tenant.fetch(ID_COLUMNS):
        rows = await tenant.fetch(
            f"select distinct {column} from {table} where {column} is not null"  # noqa: S608
            f" and not exists (select from memories m where m.memory_id = {table}.{column})"
        )
        if rows:
            found[f"{table}.{column}"] = rows
    return found


async def broken_invariants(tenant: Tenant) -> dict[str, list[Any]]:
    """Check everything; empty means that the tenant's tables are whole."""
    broken = await orphans(tenant)
    for sentence, sql in BROKEN.items():
        if rows := await tenant.fetch(sql, tenant.principal.org_id):
            broken[sentence] = rows
    return broken
