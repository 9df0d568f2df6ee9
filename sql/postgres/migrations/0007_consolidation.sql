-- Consolidation: what was made out of which memories, what was undone and must not be made again, and how far each
-- namespace's run has come.

create table summaries (
    org_id uuid not null,
    summary_id bigint not null,
    namespace_id bigint not null,
    detector text not null,
    cosine double precision,
    writer text not null,
    scope text not null,
    started_at timestamptz not null,
    made_at timestamptz not null,
    updated_at timestamptz not null,
    adopted_at timestamptz,
    constraint summaries_pkey primary key (org_id, summary_id),
    constraint summaries_memory_fkey foreign key (org_id, summary_id)
        references memories (org_id, memory_id) on delete cascade,
    constraint summaries_namespace_fkey foreign key (org_id, namespace_id)
        references namespaces (org_id, namespace_id) on delete cascade,
    constraint summaries_detector_check check (detector in ('repetition', 'burst'))
);
comment on table summaries is 'memories that consolidation made: summaries of repetitions, and episodes (bursts)';
comment on column summaries.cosine is 'of the two members that are least alike; null for an episode';
comment on column summaries.writer is 'extract: quoted from the members; else the language model that wrote it';
comment on column summaries.scope is 'what its members share: a digest of project, page and context, or of the conversation';
comment on column summaries.started_at is 'when the earliest member happened';
comment on column summaries.adopted_at is 'when somebody edited it: from then on it is theirs, and is not written again';

create index summaries_episode_idx on summaries (org_id, namespace_id, scope, started_at) where detector = 'burst';

create table summary_members (
    org_id uuid not null,
    summary_id bigint not null,
    member_id bigint not null,
    state_before text not null,
    cosine double precision,
    joined_at timestamptz not null,
    constraint summary_members_pkey primary key (org_id, summary_id, member_id),
    constraint summary_members_summary_fkey foreign key (org_id, summary_id)
        references summaries (org_id, summary_id) on delete cascade,
    constraint summary_members_memory_fkey foreign key (org_id, member_id)
        references memories (org_id, memory_id) on delete cascade
);
comment on column summary_members.state_before is 'the member''s state when it joined: what undoing brings back';
comment on column summary_members.cosine is 'to the member that the summary quotes; null in an episode';

create index summary_members_member_idx on summary_members (org_id, member_id);

create table refused_merges (
    org_id uuid not null,
    refusal_id bigint not null,
    memory_id bigint not null,
    detector text not null,
    at timestamptz not null,
    constraint refused_merges_pkey primary key (org_id, refusal_id, memory_id),
    constraint refused_merges_memory_fkey foreign key (org_id, memory_id)
        references memories (org_id, memory_id) on delete cascade,
    constraint refused_merges_detector_check check (detector in ('repetition', 'burst'))
);
comment on table refused_merges is 'the members of what was undone: no two of one refusal come together again';

create index refused_merges_memory_idx on refused_merges (org_id, memory_id);

create table consolidation_runs (
    org_id uuid not null,
    namespace_id bigint not null,
    holder text not null,
    leased_until timestamptz not null,
    window_from timestamptz not null,
    window_to timestamptz not null,
    phase text not null,
    reached bigint not null,
    counts jsonb not null,
    recalls_until timestamptz,
    started_at timestamptz not null,
    finished_at timestamptz,
    constraint consolidation_runs_pkey primary key (org_id, namespace_id),
    constraint consolidation_runs_namespace_fkey foreign key (org_id, namespace_id)
        references namespaces (org_id, namespace_id) on delete cascade
);
comment on table consolidation_runs is 'the last run of each namespace, and the lock that keeps it the only one';
comment on column consolidation_runs.holder is 'who runs it: a job, or one call';
comment on column consolidation_runs.leased_until is 'renewed by every step; after it, another may take over';
comment on column consolidation_runs.reached is 'within the phase, the id up to which the window''s memories are done';
comment on column consolidation_runs.recalls_until is 'recalls up to here have been counted for what came up together';

-- What has changed since: the window of a run.
create index memories_updated_idx on memories (org_id, namespace_id, updated_at);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['summaries', 'summary_members', 'refused_merges', 'consolidation_runs'] loop
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
