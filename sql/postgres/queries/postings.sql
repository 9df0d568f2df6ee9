-- name: insert_postings
-- Add memories to the lexical index, in key order.
insert into postings (org_id, namespace_id, term, memory_id, frequency, length)
select :org_id, :namespace_id, new.term, new.memory_id, new.frequency, new.length
from unnest(:terms::integer[], :memory_ids::bigint[], :frequencies::smallint[], :lengths::integer[])
    as new (term, memory_id, frequency, length)
order by new.term, new.memory_id;

-- name: read_postings
-- Pack each term's postings: memory_id, frequency and length as big-endian int8, int2 and int4.
select term, string_agg(int8send(memory_id) || int2send(frequency) || int4send(length), ''::bytea) as packed
from postings
where org_id = :org_id and namespace_id = :namespace_id and term = any(:terms::integer[])
group by term;

-- name: delete_postings
-- Take memories out of the lexical index; terms are those of all of them together.
delete from postings
where org_id = :org_id and namespace_id = :namespace_id
  and term = any(:terms::integer[]) and memory_id = any(:memory_ids::bigint[]);
