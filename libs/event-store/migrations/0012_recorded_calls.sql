-- The newest calls of an organisation, for backtests: without it the whole log is walked backwards.
create index events_tool_requested on ledger.events (org_id, global_position) where type = 'tool.requested';

-- Who made a token, oldest first and without the bootstrap token: nobody is the second person for themselves. Null: made before this was recorded.
alter table gateway.tokens add column made_by text[];
