-- Tables that projector fills from the log. Each row carries the version of its model, so that a rebuild fills the next version beside the live one;
-- readers use the views, which show the live version only. `view` is the API's picture without content, which is read from the run's stream.
create schema read;

create table read.models (
  name text primary key,
  live integer not null default 1
);
insert into read.models (name) values ('runs'), ('approvals'), ('artifacts'), ('costs');

create table read.run_rows (
  version integer not null,
  run_id uuid not null,
  org_id text not null,
  invoked_by text not null,
  agent text not null,
  status text not null,
  last_seq bigint not null,
  -- Where the summary of the end stands, once there is one.
  summary_seq bigint,
  view jsonb not null,
  created_at timestamptz not null,
  primary key (version, run_id)
) with (fillfactor = 70);
create index run_rows_page on read.run_rows (version, org_id, created_at desc, run_id desc);
create index run_rows_page_of_owner on read.run_rows (version, org_id, invoked_by, created_at desc, run_id desc);
create index run_rows_page_of_status on read.run_rows (version, org_id, status, created_at desc, run_id desc);

create table read.approval_rows (
  version integer not null,
  approval_id text not null,
  run_id uuid not null,
  org_id text not null,
  tool_call_id text not null,
  status text not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  view jsonb not null,
  primary key (version, approval_id)
);
create index approval_rows_page on read.approval_rows (version, org_id, status, requested_at desc, approval_id desc);
create index approval_rows_run on read.approval_rows (version, run_id);

create table read.artifact_rows (
  version integer not null,
  id text not null,
  run_id uuid not null,
  org_id text not null,
  kind text not null,
  name text not null,
  content_type text not null,
  bytes bigint not null,
  sha256 text not null,
  truncated boolean not null,
  created_at timestamptz not null,
  primary key (version, id)
);
create index artifact_rows_run on read.artifact_rows (version, run_id, created_at, id);

create table read.cost_rows (
  version integer not null,
  org_id text not null,
  agent text not null,
  model text not null,
  day date not null,
  model_requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  cost_micro_usd bigint not null,
  primary key (version, org_id, agent, model, day)
) with (fillfactor = 70);

create view read.runs with (security_invoker = true) as
  select run_id, org_id, invoked_by, agent, status, last_seq, summary_seq, view, created_at
  from read.run_rows where version = (select live from read.models where name = 'runs');
create view read.approvals with (security_invoker = true) as
  select approval_id, run_id, org_id, tool_call_id, status, requested_at, expires_at, view
  from read.approval_rows where version = (select live from read.models where name = 'approvals');
create view read.artifacts with (security_invoker = true) as
  select id, run_id, org_id, kind, name, content_type, bytes, sha256, truncated, created_at
  from read.artifact_rows where version = (select live from read.models where name = 'artifacts');
create view read.costs with (security_invoker = true) as
  select org_id, agent, model, day, model_requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micro_usd
  from read.cost_rows where version = (select live from read.models where name = 'costs');

alter table read.run_rows enable row level security;
alter table read.approval_rows enable row level security;
alter table read.artifact_rows enable row level security;
alter table read.cost_rows enable row level security;
