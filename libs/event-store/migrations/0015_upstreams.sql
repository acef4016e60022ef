-- The model upstreams of an organisation itself, in the order in which they are asked. `sealed_key` is bound to all that stands beside it but the order, its
-- URL above all: whoever writes another one here gets a key that does not open.
create table ledger.upstreams (
  org_id text collate "C" not null,
  dialect text collate "C" not null,
  name text collate "C" not null,
  position smallint not null check (position between 1 and 4),
  base_url text not null,
  sealed_key bytea not null,
  set_by text not null,
  set_at timestamptz not null,
  primary key (org_id, dialect, name),
  unique (org_id, dialect, position) deferrable initially deferred
);

-- Who changed which one when, for ever. A key is in none of it.
create table ledger.upstream_changes (
  id bigint generated always as identity primary key,
  org_id text collate "C" not null,
  dialect text collate "C" not null,
  name text collate "C" not null,
  change text not null check (change in ('set', 'removed')),
  position smallint,
  base_url text,
  changed_by text not null,
  changed_at timestamptz not null
);
create trigger upstream_changes_append_only before update or delete or truncate on ledger.upstream_changes for each statement execute function ledger.refuse_change();
