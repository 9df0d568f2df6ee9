-- name: claim_run
-- Begin a namespace's run, or go on with the one that this holder had begun. A run that another holder left unfinished
-- is begun again over both windows; one that is under way yields no row. To catch up is to reach back to the last run,
-- or to the beginning where there was none.
insert into consolidation_runs (
    org_id, namespace_id, holder, leased_until, window_from, window_to, phase, reached, counts, started_at
)
values (
    :org_id, :namespace_id, :holder, :leased_until,
    case when :catch_up then '2000-01-01T00:00:00Z'::timestamptz else :window_from::timestamptz end,
    :window_to, :phase, :reached, :counts, :now
)
on conflict on constraint consolidation_runs_pkey do update
set holder = excluded.holder,
    leased_until = excluded.leased_until,
    window_from = case
        when consolidation_runs.finished_at is not null and :catch_up
            then least(:window_from, consolidation_runs.window_to)
        when consolidation_runs.finished_at is not null then :window_from
        when consolidation_runs.holder = excluded.holder then consolidation_runs.window_from
        else least(consolidation_runs.window_from, :window_from) end,
    window_to = case
        when consolidation_runs.finished_at is null and consolidation_runs.holder = excluded.holder
            then consolidation_runs.window_to
        else excluded.window_to end,
    phase = case
        when consolidation_runs.finished_at is null and consolidation_runs.holder = excluded.holder
            then consolidation_runs.phase
        else excluded.phase end,
    reached = case
        when consolidation_runs.finished_at is null and consolidation_runs.holder = excluded.holder
            then consolidation_runs.reached
        else excluded.reached end,
    counts = case
        when consolidation_runs.finished_at is null and consolidation_runs.holder = excluded.holder
            then consolidation_runs.counts
        else excluded.counts end,
    started_at = case
        when consolidation_runs.finished_at is null and consolidation_runs.holder = excluded.holder
            then consolidation_runs.started_at
        else excluded.started_at end,
    finished_at = null
where consolidation_runs.finished_at is not null
   or consolidation_runs.holder = excluded.holder
   or consolidation_runs.leased_until <= :now
returning window_from, window_to, phase, reached, counts, recalls_until;

-- name: hold_run
-- Make sure that the run is still this holder's, renew its lease, and keep others out until the transaction ends.
update consolidation_runs
set leased_until = :leased_until
where org_id = :org_id and namespace_id = :namespace_id and holder = :holder and finished_at is null;

-- name: note_progress
-- Say how far a run has come, and what it has done.
update consolidation_runs
set phase = :phase, reached = :reached, counts = :counts
where org_id = :org_id and namespace_id = :namespace_id and holder = :holder and finished_at is null;

-- name: finish_run
-- End a run: its lock is free, and the recalls it has counted are not counted again.
update consolidation_runs
set finished_at = :now, leased_until = :now, recalls_until = :recalls_until, counts = :counts
where org_id = :org_id and namespace_id = :namespace_id and holder = :holder and finished_at is null;

-- name: count_window
-- Count what was made or changed since a moment.
select count(*)
from memories
where org_id = :org_id and namespace_id = :namespace_id and updated_at >= :window_from;

-- name: list_window_ids
-- Pack the ids of the memories that a run considers: made or changed within its window, and neither the service's own,
-- nor a part of a document, nor about to expire.
select string_agg(int8send(memory_id), ''::bytea order by memory_id)
from memories
where org_id = :org_id and namespace_id = :namespace_id and updated_at >= :window_from and updated_at <= :window_to
  and state = 'active' and type not in ('Code', 'Prospective') and part_of is null and expires_at is null
  and source is distinct from 'system';

-- name: list_burst_occurrences
-- List, conversation by conversation, which of the given memories are in no episode yet, and when they happened.
select m.memory_id, m.session, m.project, m.occurred_at
from memories m
where m.org_id = :org_id and m.namespace_id = :namespace_id and m.memory_id = any(:ids::bigint[])
  and m.state = 'active'
  and not exists (
      select from summary_members sm
      join summaries s on s.org_id = sm.org_id and s.summary_id = sm.summary_id and s.detector = 'burst'
      where sm.org_id = :org_id and sm.member_id = m.memory_id
  )
  and not exists (
      select from refused_merges r
      where r.org_id = :org_id and r.memory_id = m.memory_id and r.detector = 'burst'
  );

-- name: list_episodes
-- List the episodes of conversations that began since a moment, with how many members they have.
select s.summary_id, s.scope, s.started_at, count(sm.member_id) as members
from summaries s
join summary_members sm on sm.org_id = s.org_id and sm.summary_id = s.summary_id
where s.org_id = :org_id and s.namespace_id = :namespace_id and s.detector = 'burst' and s.adopted_at is null
  and s.scope = any(:scopes::text[]) and s.started_at >= :since
group by s.summary_id, s.scope, s.started_at
order by s.started_at, s.summary_id;

-- name: insert_summaries
-- Note that consolidation made memories, and how.
insert into summaries (
    org_id, summary_id, namespace_id, detector, cosine, writer, scope, started_at, made_at, updated_at
)
select :org_id, new.summary_id, :namespace_id, new.detector, new.cosine, new.writer, new.scope, new.started_at, :now, :now
from unnest(
    :summary_ids::bigint[], :detectors::text[], :cosines::double precision[], :writers::text[], :scopes::text[],
    :starts::timestamptz[]
) as new (summary_id, detector, cosine, writer, scope, started_at);

-- name: update_summary
-- Note that a summary was extended or written again.
update summaries
set cosine = :cosine, writer = :writer, updated_at = :now
where org_id = :org_id and summary_id = :summary_id;

-- name: adopt_summary
-- Note that somebody edited a summary: it is theirs from now on.
update summaries
set adopted_at = :now
where org_id = :org_id and summary_id = :summary_id and adopted_at is null;

-- name: insert_summary_members
-- Note which memories summaries were made of, and what they were before.
insert into summary_members (org_id, summary_id, member_id, state_before, cosine, joined_at)
select :org_id, joined.summary_id, m.memory_id, m.state, joined.cosine, :now
from unnest(:summary_ids::bigint[], :member_ids::bigint[], :cosines::double precision[])
    as joined (summary_id, member_id, cosine)
join memories m on m.org_id = :org_id and m.memory_id = joined.member_id
order by joined.summary_id, m.memory_id;

-- name: read_summaries
-- Read what consolidation knows of the given memories that it made.
select summary_id, namespace_id, detector, cosine, writer, started_at, made_at, updated_at, adopted_at
from summaries
where org_id = :org_id and summary_id = any(:ids::bigint[]);

-- name: list_summary_members
-- List the members of summaries.
select summary_id, member_id, state_before, cosine, joined_at
from summary_members
where org_id = :org_id and summary_id = any(:ids::bigint[])
order by summary_id, member_id;

-- name: list_summaries_of
-- List which summaries and episodes the given memories are members of.
select sm.member_id, s.summary_id, s.detector, s.adopted_at
from summary_members sm
join summaries s on s.org_id = sm.org_id and s.summary_id = sm.summary_id
where sm.org_id = :org_id and sm.member_id = any(:ids::bigint[])
order by sm.member_id, s.summary_id;

-- name: restore_members
-- Give the members of summaries back the state they had before, unless something else supersedes them too.
update memories m
set state = sm.state_before, updated_at = :now
from summary_members sm
where m.org_id = :org_id and sm.org_id = :org_id and sm.summary_id = any(:summary_ids::bigint[])
  and m.memory_id = sm.member_id and m.state = 'superseded' and not m.memory_id = any(:passed_over::bigint[])
  and not exists (
      select from edges e
      where e.org_id = :org_id and e.target_id = m.memory_id and e.type = 'Supersedes'
        and not e.source_id = any(:summary_ids)
  )
returning m.memory_id, m.version, m.state;

-- name: pass_on_contradictions
-- Let what supersedes or contradicts a summary supersede or contradict its members, before the summary goes.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at)
select :org_id, e.namespace_id, e.source_id, sm.member_id, e.type, e.weight, :now
from edges e
join summary_members sm on sm.org_id = :org_id and sm.summary_id = e.target_id
where e.org_id = :org_id and e.target_id = any(:summary_ids::bigint[]) and e.type in ('Supersedes', 'Contradicts')
  and e.source_id <> sm.member_id
order by e.source_id, sm.member_id, e.type
on conflict on constraint edges_pkey do nothing;

-- name: inherit_denials
-- Let a summary contradict what its members contradict, and be contradicted by what contradicts them.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at)
select distinct on (source_id, target_id) :org_id, denial.namespace_id, denial.source_id, denial.target_id, 'Contradicts',
    denial.weight, :now
from (
    select e.namespace_id, e.source_id, :summary_id::bigint as target_id, e.weight
    from edges e
    where e.org_id = :org_id and e.target_id = any(:member_ids::bigint[]) and e.type = 'Contradicts'
      and not e.source_id = any(:member_ids)
    union all
    select e.namespace_id, :summary_id, e.target_id, e.weight
    from edges e
    where e.org_id = :org_id and e.source_id = any(:member_ids) and e.type = 'Contradicts'
      and not e.target_id = any(:member_ids)
) denial
where denial.source_id <> denial.target_id
order by source_id, target_id, denial.weight desc
on conflict on constraint edges_pkey do nothing;

-- name: list_contradictions
-- List what contradicts the given memories.
select source_id, target_id
from edges
where org_id = :org_id and target_id = any(:ids::bigint[]) and type = 'Contradicts';

-- name: delete_summary_members
-- Take members out of episodes.
delete from summary_members
where org_id = :org_id and summary_id = :summary_id and member_id = any(:member_ids::bigint[]);

-- name: insert_refusal
-- Remember that these memories must not come together again; a summary that an import brought back is undone once more.
insert into refused_merges (org_id, refusal_id, memory_id, detector, at)
select :org_id, :refusal_id, m.memory_id, :detector, :now
from memories m
where m.org_id = :org_id and m.memory_id = any(:member_ids::bigint[])
on conflict on constraint refused_merges_pkey do nothing;

-- name: list_refusals
-- List the refusals that some memories are in.
select memory_id, refusal_id
from refused_merges
where org_id = :org_id and memory_id = any(:ids::bigint[]) and detector = :detector;

-- name: list_co_accesses
-- Find pairs that came up together, among the best results of recalls since a moment, and have done so often enough in
-- all recalls that are kept.
with best as (
    select r.recall_id, r.at > :since as is_fresh, (result.value ->> 0)::bigint as memory_id
    from recalls r
    cross join lateral jsonb_array_elements(r.results) with ordinality as result (value, place)
    where r.org_id = :org_id and r.namespace_id = :namespace_id and r.at <= :until and result.place <= :results
)
select a.memory_id as source_id, b.memory_id as target_id, count(*) as times
from best a
join best b on b.recall_id = a.recall_id and b.memory_id > a.memory_id
group by a.memory_id, b.memory_id
having count(*) >= :least_times and bool_or(a.is_fresh)
order by a.memory_id, b.memory_id;

-- name: raise_co_retrieval
-- Raise the CoRetrieval edges of pairs to a weight, where they are lighter; pairs of which one is gone are passed over.
insert into edges (org_id, namespace_id, source_id, target_id, type, weight, created_at)
select :org_id, :namespace_id, pair.source_id, pair.target_id, 'CoRetrieval', pair.weight, :now
from unnest(:sources::bigint[], :targets::bigint[], :weights::double precision[]) as pair (source_id, target_id, weight)
join memories s on s.org_id = :org_id and s.memory_id = pair.source_id and s.namespace_id = :namespace_id
join memories t on t.org_id = :org_id and t.memory_id = pair.target_id and t.namespace_id = :namespace_id
order by pair.source_id, pair.target_id
on conflict on constraint edges_pkey do update set weight = excluded.weight
where edges.weight < excluded.weight;

-- name: write_episode
-- Write an episode's text again, after its members have changed.
update memories
set content = :content, title = :title, content_hash = :content_hash, duplicate_hash = :duplicate_hash,
    updated_at = :now
where org_id = :org_id and memory_id = :memory_id;

-- name: carry_learning
-- Let a summary begin with what was learned about its members.
update memories made
set utility = greatest(made.utility, learned.utility),
    access_count = greatest(made.access_count, learned.access_count),
    useful_count = greatest(made.useful_count, learned.useful_count)
from (
    select max(m.utility) as utility, sum(m.access_count)::bigint as access_count,
        sum(m.useful_count)::bigint as useful_count
    from memories m
    where m.org_id = :org_id and m.memory_id = any(:member_ids::bigint[])
) learned
where made.org_id = :org_id and made.memory_id = :memory_id;
