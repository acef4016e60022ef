-- A head only goes forward, its generation too, and a closed stream stays closed, whoever asks. After the row and with a condition: an append that is right
-- costs one comparison and no call.
create function ledger.refuse_head() returns trigger language plpgsql as $$
begin
  raise exception 'the head of % only goes forward, and a closed stream stays closed', old.stream using errcode = 'insufficient_privilege';
end $$;
create trigger stream_heads_forward after update on ledger.stream_heads for each row
when (old.closed or new.seq <= old.seq or new.generation < old.generation or new.stream <> old.stream or new.org_id <> old.org_id or new.category <> old.category)
execute function ledger.refuse_head();
create trigger stream_heads_stay before delete or truncate on ledger.stream_heads for each statement execute function ledger.refuse_change();

-- The columns say what the bytes say: who may write which type is judged by the column, and readers go by the body. Canonical JSON ends with these members, and
-- of two members of one name a reader takes the last. Rows that are here already are checked by whoever verifies them.
create function ledger.body_end(org_id text, stream text, type text, event_version integer) returns bytea language sql immutable parallel safe
return convert_to('"org":"' || org_id || '","stream":"' || stream || '","type":"' || type || '","version":' || event_version || '}', 'UTF8');
alter table ledger.events add constraint events_body_names check (
  substring(body from length(body) - length(ledger.body_end(org_id, stream, type, event_version)) + 1) = ledger.body_end(org_id, stream, type, event_version)
) not valid;
