-- Decisions of the gate, counted by everything that one asks about. The policy's version stands beside its name, because a rule is an index into one version.
create table read.gate_rows (
  version integer not null,
  org_id text not null,
  day date not null,
  agent text not null,
  policy text not null,
  policy_version integer not null,
  tool text not null,
  verdict text not null,
  source text not null,
  rule text not null,
  calls bigint not null,
  primary key (version, org_id, day, agent, policy, policy_version, tool, verdict, source, rule)
) with (fillfactor = 70);
alter table read.gate_rows enable row level security;
create view read.gate with (security_invoker = true) as
  select org_id, day, agent, policy, policy_version, tool, verdict, source, rule, calls
  from read.gate_rows where version = (select live from read.models where name = 'gate');
create index cost_rows_day on read.cost_rows (version, org_id, day);

-- Which revision of the code filled the live version: projector fills a model anew when its own differs.
alter table read.models add column revision integer not null default 1;
-- When it became live: what was parked before is in it already.
alter table read.models add column switched_at timestamptz;
insert into read.models (name, revision) values ('gate', 0);
-- The version that is being filled beside the live one, and how far it has come: in the transaction of its rows, so a crash loses nothing.
create table read.rebuilds (
  name text primary key references read.models (name),
  version integer not null,
  position bigint not null default 0,
  problem text,
  started_at timestamptz not null default now()
);

-- Artifacts of many runs are listed by who may see their runs.
alter table read.artifact_rows add column invoked_by text not null default '';
create index artifact_rows_page on read.artifact_rows (version, org_id, created_at desc, id desc);
create index artifact_rows_page_of_owner on read.artifact_rows (version, org_id, invoked_by, created_at desc, id desc);
create or replace view read.artifacts with (security_invoker = true) as
  select id, run_id, org_id, kind, name, content_type, bytes, sha256, truncated, created_at, invoked_by
  from read.artifact_rows where version = (select live from read.models where name = 'artifacts');
-- A member's runs of one status: without it a rare status is looked for among all of their runs.
create index run_rows_page_of_owner_and_status on read.run_rows (version, org_id, invoked_by, status, created_at desc, run_id desc);

-- Asked to be handled again, by its follower at its next look.
alter table ledger.parked add column replay_requested_at timestamptz;
