-- Projector's start: which runs are alive and need a checkpoint every 5 minutes. Small however many runs have ended.
create index run_rows_live on read.run_rows (version, run_id) where status not in ('completed', 'failed', 'cancelled', 'budget_exceeded');
-- What has not left the building for certain is witnessed again after a restart.
create index checkpoints_created_at on ledger.checkpoints (created_at);
