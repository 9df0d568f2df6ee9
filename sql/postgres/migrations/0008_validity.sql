-- Contradictions: a recall asks of each of its candidates whether a newer memory contradicts or supersedes it.

create index edges_denied_idx on edges (org_id, target_id, source_id) where type in ('Contradicts', 'Supersedes');
create index edges_denying_idx on edges (org_id, source_id, target_id) where type in ('Contradicts', 'Supersedes');
