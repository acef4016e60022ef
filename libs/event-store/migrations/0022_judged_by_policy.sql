-- What an insert must keep, as policies. The text of a check constraint is read, planned and set up anew by every statement, which cost an append a sixth of its
-- time; a policy is part of the statement's plan. They bind every role that row security binds: all services. Restrictive: beside what a role may write at all.
alter table ledger.events drop constraint events_body_digest, drop constraint events_body_names, drop constraint events_seq_check;
create policy events_seq on ledger.events as restrictive for insert with check (seq > 0);
create policy events_body_digest on ledger.events as restrictive for insert with check (body_digest = sha256(body));
create policy events_body_names on ledger.events as restrictive for insert with check (
  substring(body from length(body) - octet_length('"org":"","stream":"","type":"","version":}' || org_id || stream || type || event_version::text) + 1)
  = ('"org":"' || org_id || '","stream":"' || stream || '","type":"' || type || '","version":' || event_version::text || '}')::bytea
);
alter table ledger.content drop constraint content_class_check;
create policy content_class on ledger.content as restrictive for insert with check (class in ('projection', 'rest'));

-- How the append of one caller takes back that it has moved the head, when an account did not take its change: the statement fails, and the batch statement
-- says why.
create function ledger.refuse_accounts() returns bigint language plpgsql as $$
begin
  raise exception 'an account is at its limit or does not exist yet' using errcode = 'FB001';
end $$;

-- The sessions of the appender join by looking up; this one joins what it has in hand.
do $$ begin
  execute format('alter function %s set enable_hashjoin = on', 'ledger.append_batch'::regproc::regprocedure);
  execute format('alter function %s set enable_mergejoin = on', 'ledger.append_batch'::regproc::regprocedure);
end $$;
