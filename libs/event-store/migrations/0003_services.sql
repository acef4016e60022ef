-- Tables that belong to one service each: what it must find again after a restart and that is no decision.
create schema runs;
create table runs.heartbeats (
  run_id uuid primary key,
  last_beat_at timestamptz not null
) with (fillfactor = 50);
-- Runs that are not terminal: where recovery starts. What each of them needs is in its stream.
create table runs.open_runs (
  run_id uuid primary key,
  org_id text not null
);

create schema approvals;
create table approvals.timers (
  approval_id text primary key,
  run_id uuid not null,
  org_id text not null,
  expires_at timestamptz not null
);
create index timers_expires_at on approvals.timers (expires_at);

create schema gateway;
create table gateway.tokens (
  org_id text not null,
  name text not null,
  role text not null check (role in ('member', 'approver', 'admin')),
  token_hash bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (org_id, name)
);
-- A token is found before its organisation is known.
create unique index tokens_hash on gateway.tokens (token_hash);

create schema scheduler;
create table scheduler.sandboxes (
  run_id uuid primary key,
  org_id text not null,
  generation integer not null,
  sandbox_id text not null,
  supervisor_pid integer,
  supervisor_started text,
  dir text not null,
  cgroup text,
  state text not null,
  detail jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
