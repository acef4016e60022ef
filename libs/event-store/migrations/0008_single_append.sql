-- The hash that the last append of the stream stood on. A statement that moves the head first (one row, already locked by the update) finds there what its
-- events are chained to; nobody else reads it.
alter table ledger.stream_heads add column prev_hash bytea;

-- As before, except for its plans and the new column.
create or replace function ledger.append_batch(
  p_create boolean,
  p_streams text[], p_orgs text[], p_categories text[], p_expected bigint[], p_generations integer[], p_set_generations integer[], p_closes boolean[],
  p_firsts integer[], p_counts integer[],
  p_event_units integer[], p_event_ids uuid[], p_types text[], p_versions integer[], p_occurred timestamptz[], p_actors text[],
  p_body_starts integer[], p_body_lengths integer[], p_bodies bytea, p_digests bytea,
  p_content_events integer[], p_content_classes text[], p_content_days integer[], p_content_starts integer[], p_content_lengths integer[], p_contents bytea,
  p_key_units integer[], p_key_projections bytea[], p_key_rests bytea[], p_key_salts bytea[],
  p_document_units integer[], p_document_digests bytea[], p_document_bytes bytea[],
  p_account_units integer[], p_account_scopes text[], p_account_periods text[], p_account_reserves bigint[], p_account_settles bigint[]
) returns table (unit integer, status text, version bigint, generation integer, positions bigint[])
-- A young table has no statistics, and a plan that reads all heads would stay in the session for as long as it lives. Planning this anew for each batch, as
-- the server would, because arrays of known length look cheaper, took as long as running it.
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_units integer[];
  v_seqs bigint[];
  v_hashes bytea[];
  v_generations integer[];
  v_statuses text[];
  v_refused integer[] := '{}';
  v_unit integer;
begin
  if p_create then
    insert into ledger.stream_heads (stream, org_id, category, seq, hash)
    select u.stream, u.org, u.category, 0, decode(repeat('00', 32), 'hex')
    from unnest(p_streams, p_orgs, p_categories, p_expected) with ordinality as u (stream, org, category, expected, ord)
    where (u.expected is null or u.expected = 0) and not exists (select from ledger.stream_heads h where h.stream = u.stream)
    order by u.ord
    on conflict do nothing;
  end if;

  select array_agg(l.ord), array_agg(l.seq), array_agg(l.hash), array_agg(l.generation),
    array_agg(case
      when l.org_id <> l.org then 'foreign'
      when l.seq <> l.expected then 'conflict'
      when l.closed then 'closed'
      when l.generation <> l.fence then 'stale_lease'
      else 'ok'
    end)
  into v_units, v_seqs, v_hashes, v_generations, v_statuses
  from (
    select u.ord::integer as ord, u.org, u.expected, u.fence, h.org_id, h.seq, h.hash, h.generation, h.closed
    from unnest(p_streams, p_orgs, p_expected, p_generations) with ordinality as u (stream, org, expected, fence, ord)
    join ledger.stream_heads h on h.stream = u.stream
    order by u.ord
    for update of h
  ) l;

  if cardinality(p_account_units) > 0 then
    insert into ledger.budget_accounts (scope, period)
    select distinct a.scope, a.period from unnest(p_account_scopes, p_account_periods) as a (scope, period)
    order by 1, 2
    on conflict do nothing;
    perform 1 from ledger.budget_accounts b
    where (b.scope, b.period) in (select a.scope, a.period from unnest(p_account_scopes, p_account_periods) as a (scope, period))
    order by b.scope, b.period
    for update;
    for v_unit in
      select distinct a.unit from unnest(p_account_units) as a (unit)
      join unnest(v_units, v_statuses) as h (ord, status) on h.ord = a.unit and h.status = 'ok'
      order by 1
    loop
      if exists (
        select from unnest(p_account_units, p_account_scopes, p_account_periods, p_account_reserves) as a (unit, scope, period, reserve)
        join ledger.budget_accounts b on b.scope = a.scope and b.period = a.period
        where a.unit = v_unit and a.reserve > 0 and b.spent + b.reserved + a.reserve > b."limit"
      ) then
        v_refused := v_refused || v_unit;
      else
        update ledger.budget_accounts b
        set reserved = b.reserved + a.reserve, spent = b.spent + a.settle, updated_at = now()
        from unnest(p_account_units, p_account_scopes, p_account_periods, p_account_reserves, p_account_settles) as a (unit, scope, period, reserve, settle)
        where a.unit = v_unit and b.scope = a.scope and b.period = a.period;
      end if;
    end loop;
    if cardinality(v_refused) > 0 then
      select array_agg(case when h.ord = any (v_refused) then 'over_account' else h.status end order by h.place) into v_statuses
      from unnest(v_units, v_statuses) with ordinality as h (ord, status, place);
    end if;
  end if;

  if cardinality(p_key_units) > 0 then
    insert into ledger.run_keys (stream, org_id, projection, rest, salt)
    select u.stream, u.org, k.projection, k.rest, k.salt
    from unnest(p_key_units, p_key_projections, p_key_rests, p_key_salts) as k (unit, projection, rest, salt)
    join unnest(p_streams, p_orgs) with ordinality as u (stream, org, ord) on u.ord = k.unit
    join unnest(v_units, v_statuses) as h (ord, status) on h.ord = k.unit and h.status = 'ok';
  end if;

  if cardinality(p_document_units) > 0 then
    insert into ledger.documents (digest, bytes)
    select distinct on (d.digest) d.digest, d.bytes
    from unnest(p_document_units, p_document_digests, p_document_bytes) as d (unit, digest, bytes)
    join unnest(v_units, v_statuses) as h (ord, status) on h.ord = d.unit and h.status = 'ok'
    order by d.digest
    on conflict do nothing;
  end if;

  if cardinality(p_content_events) > 0 then
    insert into ledger.content (stream, seq, class, org_id, sealed, expires_at)
    select u.stream, h.seq + 1 + c.event - u.first, c.class, u.org, substring(p_contents from c.start + 1 for c.length), now() + make_interval(days => c.days)
    from unnest(p_content_events, p_content_classes, p_content_days, p_content_starts, p_content_lengths) as c (event, class, days, start, length)
    join unnest(p_event_units) with ordinality as e (unit, n) on e.n = c.event + 1
    join unnest(p_streams, p_orgs, p_firsts) with ordinality as u (stream, org, first, ord) on u.ord = e.unit
    join unnest(v_units, v_seqs, v_statuses) as h (ord, seq, status) on h.ord = e.unit and h.status = 'ok';
  end if;

  return query
  with won as materialized (
    select u.ord, u.stream, u.org, u.category, u.first, u.count, u.closes, h.seq, h.hash as prev,
      coalesce(u.set_generation, h.generation) as generation,
      case when u.count = 1
        then sha256(h.hash || int8send(h.seq + 1) || substring(p_digests from u.first * 32 + 1 for 32))
        else ledger.chain(h.hash, h.seq, p_digests, u.first, u.count)
      end as hashes
    from unnest(p_streams, p_orgs, p_categories, p_set_generations, p_closes, p_firsts, p_counts) with ordinality
      as u (stream, org, category, set_generation, closes, first, count, ord)
    join unnest(v_units, v_seqs, v_hashes, v_generations, v_statuses) as h (ord, seq, hash, generation, status) on h.ord = u.ord and h.status = 'ok'
  ), moved as (
    update ledger.stream_heads s
    set seq = w.seq + w.count, prev_hash = w.prev, hash = substring(w.hashes from w.count * 32 - 31 for 32), generation = w.generation, closed = w.closes
    from won w
    where s.stream = w.stream
  ), stored as (
    insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
    select w.org, w.stream, w.category, w.seq + e.n - w.first, e.event_id, e.type, e.version, w.generation, e.occurred, e.actor,
      substring(p_bodies from e.start + 1 for e.length),
      substring(p_digests from (e.n::integer - 1) * 32 + 1 for 32),
      case when e.n - 1 = w.first then w.prev else substring(w.hashes from (e.n::integer - w.first) * 32 - 63 for 32) end,
      substring(w.hashes from (e.n::integer - w.first) * 32 - 31 for 32)
    from unnest(p_event_units, p_event_ids, p_types, p_versions, p_occurred, p_actors, p_body_starts, p_body_lengths) with ordinality
      as e (unit, event_id, type, version, occurred, actor, start, length, n)
    join won w on w.ord = e.unit
    order by e.n
    returning global_position
  )
  -- The events were inserted in their order, so the order of their positions is the order of the stored events over all units.
  select 0, 'positions', 0::bigint, 0, array_agg(s.global_position order by s.global_position) from stored s
  union all
  select u.ord::integer, coalesce(h.status, 'conflict'), coalesce(h.seq, 0), coalesce(w.generation, h.generation, 0), null
  from unnest(p_streams) with ordinality as u (stream, ord)
  left join unnest(v_units, v_seqs, v_generations, v_statuses) as h (ord, seq, generation, status) on h.ord = u.ord
  left join won w on w.ord = u.ord;
end $$;
