-- A run that ends, or that stops accepting work, looks up its own timers, however many others there are.
create index timers_run on approvals.timers (run_id);
