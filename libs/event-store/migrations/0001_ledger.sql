-- The ledger. Append-only tables cannot be mended later, so every column that a reader, a verifier or a second organisation will need is here from the start.
create schema ledger;

create table ledger.schema_migrations (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);

-- One row per stream. Locking it orders the appends of a stream; its index never changes with an append, so updates stay on the page (fillfactor).
create table ledger.stream_heads (
  stream text collate "C" primary key,
  org_id text not null,
  category text not null,
  seq bigint not null,
  hash bytea not null,
  generation integer not null default 0,
  closed boolean not null default false,
  created_at timestamptz not null default now()
) with (fillfactor = 50);

create table ledger.events (
  global_position bigint generated always as identity,
  org_id text not null,
  stream text collate "C" not null,
  category text not null,
  seq bigint not null check (seq > 0),
  event_id uuid not null,
  type text not null,
  event_version integer not null,
  generation integer not null,
  occurred_at timestamptz not null,
  actor text not null,
  -- Canonical JSON (RFC 8785) as bytes: what the chain covers, never reinterpreted by the database.
  body bytea not null,
  body_digest bytea not null,
  prev_hash bytea not null,
  hash bytea not null,
  txid xid8 not null default pg_current_xact_id(),
  primary key (stream, seq)
);
create unique index events_event_id on ledger.events (event_id);
create unique index events_global_position on ledger.events (global_position);

create function ledger.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger events_append_only before update or delete or truncate on ledger.events for each statement execute function ledger.refuse_change();

-- Sealed. Rows may be deleted when they expire; the chain covers only their salted digests.
create table ledger.content (
  stream text collate "C" not null,
  seq bigint not null,
  class text not null check (class in ('projection', 'rest')),
  org_id text not null,
  sealed bytea not null,
  expires_at timestamptz,
  primary key (stream, seq, class)
);
-- Ciphertext does not compress.
alter table ledger.content alter column sealed set storage external;
create index content_expires_at on ledger.content (expires_at) where expires_at is not null;

-- Wrapped by the KEK. A null column is a destroyed key.
create table ledger.run_keys (
  stream text collate "C" primary key,
  org_id text not null,
  projection bytea,
  rest bytea,
  salt bytea,
  created_at timestamptz not null default now(),
  projection_erased_at timestamptz,
  rest_erased_at timestamptz
);

create table ledger.documents (
  digest bytea primary key,
  bytes bytea not null,
  created_at timestamptz not null default now()
);
create trigger documents_append_only before update or delete or truncate on ledger.documents for each statement execute function ledger.refuse_change();

-- Organisation, agent and month. A null limit only counts. Rebuildable from budget.reserved and budget.settled.
create table ledger.budget_accounts (
  scope text collate "C" not null,
  period text collate "C" not null,
  "limit" bigint,
  reserved bigint not null default 0,
  spent bigint not null default 0,
  updated_at timestamptz not null default now(),
  primary key (scope, period)
) with (fillfactor = 50);

create table ledger.checkpoints (
  stream text collate "C" not null,
  seq bigint not null,
  org_id text not null,
  hash bytea not null,
  jws text not null,
  kid text not null,
  created_at timestamptz not null default now(),
  primary key (stream, seq)
);
create trigger checkpoints_append_only before update or delete or truncate on ledger.checkpoints for each statement execute function ledger.refuse_change();

create table ledger.artifacts (
  id text primary key,
  run_id uuid not null,
  org_id text not null,
  kind text not null,
  name text not null,
  content_type text not null,
  bytes bigint not null,
  sha256 text not null,
  truncated boolean not null,
  created_at timestamptz not null default now()
);
create index artifacts_run on ledger.artifacts (run_id, created_at);

-- How far each follower of the global order has come.
create table ledger.positions (
  name text primary key,
  position bigint not null default 0,
  version integer not null default 1,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- Events a follower gave up on, with the reason.
create table ledger.parked (
  name text not null,
  global_position bigint not null,
  reason text not null,
  tries integer not null,
  at timestamptz not null default now(),
  primary key (name, global_position)
);
