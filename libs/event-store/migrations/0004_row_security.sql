-- The reading role sees the organisation its transaction names (`set local fluidbox.org`); policies are added for each service role when it is granted.
alter table ledger.events enable row level security;
alter table ledger.content enable row level security;
alter table ledger.stream_heads enable row level security;
alter table ledger.checkpoints enable row level security;
alter table ledger.artifacts enable row level security;
