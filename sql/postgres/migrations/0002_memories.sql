-- The memory graph: namespaces, memories with their versions, the lexical index, the vectors, the edges, and the
-- answers kept for repeated idempotency keys. Each tenant table has org_id first in its primary key and indexes, and
-- row-level security forced as the second lock.

create table namespaces (
    org_id uuid not null,
    namespace_id bigint not null,
    name text not null,
    embedder text not null,
    memory_count bigint not null default 0,
    term_count bigint not null default 0,
    embedding_count bigint not null default 0,
    created_at timestamptz not null,
    constraint namespaces_pkey primary key (org_id, namespace_id),
    constraint namespaces_name_key unique (org_id, name),
    constraint namespaces_organization_fkey foreign key (org_id) references organizations (org_id) on delete cascade
);
comment on column namespaces.term_count is 'tokens of all its memories in the lexical index: the average length of BM25 is term_count / memory_count';
comment on column namespaces.embedder is 'the identity of the model that made its vectors: vectors of two models cannot be compared';
comment on column namespaces.embedding_count is 'rows in embeddings: above a limit the vector query goes through the graph index';

create table memories (
    org_id uuid not null,
    memory_id bigint not null,
    namespace_id bigint not null,
    content text not null,
    type text not null,
    tier text not null,
    state text not null default 'active',
    salience double precision not null,
    utility double precision not null,
    confidence double precision not null,
    title text,
    tags text[] not null default '{}',
    category text,
    source text,
    url text,
    site text,
    related_urls text[] not null default '{}',
    project text,
    context jsonb not null default '{}',
    metadata jsonb,
    pinned boolean not null default false,
    part_of bigint,
    session text,
    occurred_at timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    last_accessed_at timestamptz not null,
    expires_at timestamptz,
    access_count bigint not null default 0,
    useful_count bigint not null default 0,
    version integer not null default 1,
    content_hash bytea not null,
    duplicate_hash bytea not null,
    terms integer[] not null default '{}',
    term_count integer not null default 0,
    constraint memories_pkey primary key (org_id, memory_id),
    constraint memories_duplicate_key unique (org_id, namespace_id, duplicate_hash),
    constraint memories_namespace_fkey foreign key (org_id, namespace_id)
        references namespaces (org_id, namespace_id) on delete cascade,
    constraint memories_part_of_fkey foreign key (org_id, part_of)
        references memories (org_id, memory_id) on delete cascade,
    constraint memories_type_check check (type in ('Episodic', 'Semantic', 'Procedural', 'Prospective', 'Code')),
    constraint memories_tier_check check (tier in ('Buffer', 'Episodic', 'Semantic', 'Core')),
    constraint memories_state_check check (state in ('active', 'quarantined', 'archived', 'superseded')),
    constraint memories_source_check check (source in ('agent', 'human', 'crawl', 'system'))
);
comment on column memories.duplicate_hash is 'SHA-256 over the normalised content, project and context: equal ones are one memory';
comment on column memories.terms is 'the memory''s keys in postings, so that its postings can be found again';
comment on column memories.session is 'context.session_id: memories of one conversation are joined in time';

create index memories_newest_idx on memories (org_id, namespace_id, memory_id desc);
create index memories_occurred_idx on memories (org_id, namespace_id, occurred_at);
create index memories_session_idx on memories (org_id, namespace_id, session, occurred_at, memory_id)
    where session is not null;
create index memories_url_idx on memories (org_id, namespace_id, url) where url is not null;
create index memories_site_idx on memories (org_id, namespace_id, site) where site is not null;
create index memories_context_idx on memories using gin (context jsonb_path_ops);
create index memories_part_of_idx on memories (org_id, part_of) where part_of is not null;
create index memories_hidden_idx on memories (org_id, namespace_id, memory_id)
    where state in ('archived', 'quarantined') or expires_at is not null;

create table memory_events (
    org_id uuid not null,
    memory_id bigint not null,
    event_number integer not null,
    event text not null,
    version integer not null,
    at timestamptz not null,
    key_id uuid,
    fields jsonb not null,
    constraint memory_events_pkey primary key (org_id, memory_id, event_number),
    constraint memory_events_memory_fkey foreign key (org_id, memory_id)
        references memories (org_id, memory_id) on delete cascade
);
comment on table memory_events is 'a memory''s history: what each version held before it was edited, and its moves between tiers and states';

create table postings (
    org_id uuid not null,
    namespace_id bigint not null,
    term integer not null,
    memory_id bigint not null,
    frequency smallint not null,
    length integer not null,
    constraint postings_pkey primary key (org_id, namespace_id, term, memory_id) include (frequency, length)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
comment on table postings is 'the lexical index: how often a hashed stem stands in a memory, and how many tokens that memory has';

-- Vectors are kept out of the graph index until a worker puts them in (in_graph): an insert into it costs as much as
-- everything else an encode does, and small namespaces are scanned exactly anyway.
create table embeddings (
    org_id uuid not null,
    namespace_id bigint not null,
    memory_id bigint not null,
    passage smallint not null,
    in_graph boolean not null default false,
    embedding halfvec(384) not null,
    constraint embeddings_pkey primary key (org_id, namespace_id, memory_id, passage) include (embedding)
) partition by hash (org_id);

do $$
begin
    for part in 0..15 loop
        execute format(
            'create table embeddings_%s partition of embeddings for values with (modulus 16, remainder %s)',
            lpad(part::text, 2, '0'), part);
    end loop;
end;
$$;

create index embeddings_graph_idx on embeddings
    using hnsw (embedding halfvec_cosine_ops) with (m = 16, ef_construction = 64) where in_graph;
create index embeddings_tail_idx on embeddings (org_id, namespace_id, memory_id, passage)
    include (embedding) where not in_graph;

create table edges (
    org_id uuid not null,
    namespace_id bigint not null,
    source_id bigint not null,
    target_id bigint not null,
    type text not null,
    weight double precision not null,
    created_at timestamptz not null,
    constraint edges_pkey primary key (org_id, source_id, target_id, type) include (weight, namespace_id),
    constraint edges_source_fkey foreign key (org_id, source_id)
        references memories (org_id, memory_id) on delete cascade,
    constraint edges_target_fkey foreign key (org_id, target_id)
        references memories (org_id, memory_id) on delete cascade,
    constraint edges_weight_check check (weight between 0 and 1),
    constraint edges_ends_check check (source_id <> target_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
create index edges_target_idx on edges (org_id, target_id, source_id, type) include (weight, namespace_id);

create table idempotent_answers (
    org_id uuid not null,
    principal_id uuid not null,
    key text not null,
    request_digest bytea not null,
    answer bytea,
    created_at timestamptz not null,
    constraint idempotent_answers_pkey primary key (org_id, principal_id, key),
    constraint idempotent_answers_organization_fkey foreign key (org_id)
        references organizations (org_id) on delete cascade
);
create index idempotent_answers_created_idx on idempotent_answers (org_id, created_at);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array[
        'namespaces', 'memories', 'memory_events', 'postings', 'embeddings', 'edges', 'idempotent_answers'
    ] loop
        execute format('alter table %I enable row level security', tenant_table);
        execute format('alter table %I force row level security', tenant_table);
        execute format(
            'create policy %I on %I using (org_id = (select nullif(current_setting(''app.org_id'', true), '''')::uuid))'
            ' with check (org_id = (select nullif(current_setting(''app.org_id'', true), '''')::uuid))',
            tenant_table || '_tenant', tenant_table);
        execute format('grant select, insert, update, delete on %I to memoria_app', tenant_table);
    end loop;
end;
$$;
