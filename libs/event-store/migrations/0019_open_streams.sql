-- Runs that have not ended, however many have: llm-facade sweeps what they reserved. Without it every head is read each time. An append does not change
-- the column, so it stays an update on its page.
create index stream_heads_open on ledger.stream_heads (stream) include (org_id) where category = 'run' and not closed;
