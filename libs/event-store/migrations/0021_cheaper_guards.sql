-- The guards of 0020, in forms that an append pays less for: together they had cost as much as storing the event. A condition of a trigger and what a check
-- calls are read, planned and set up anew by every statement; the body of a trigger function is prepared once per session, operators are in the check itself.
create or replace function ledger.refuse_head() returns trigger language plpgsql as $$
begin
  if old.closed or new.seq <= old.seq or new.generation < old.generation
    or new.stream <> old.stream or new.org_id <> old.org_id or new.category <> old.category then
    raise exception 'the head of % only goes forward, and a closed stream stays closed', old.stream using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
drop trigger stream_heads_forward on ledger.stream_heads;
create trigger stream_heads_forward before update on ledger.stream_heads for each row execute function ledger.refuse_head();

-- The same rule. The cast takes the text's bytes as they are; a backslash, which no name has, it refuses.
alter table ledger.events drop constraint events_body_names, add constraint events_body_names check (
  substring(body from length(body) - octet_length('"org":"","stream":"","type":"","version":}' || org_id || stream || type || event_version::text) + 1)
  = ('"org":"' || org_id || '","stream":"' || stream || '","type":"' || type || '","version":' || event_version::text || '}')::bytea
) not valid;
drop function ledger.body_end(text, text, text, integer);
