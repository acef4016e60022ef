-- The database itself refuses a row whose digest is not that of its bytes, whoever inserts it.
alter table ledger.events add constraint events_body_digest check (body_digest = sha256(body));
alter table ledger.documents add constraint documents_digest check (digest = sha256(bytes));
