-- Webhooks: who is told of what, and how each telling stands. What is decided about them stands in the ledger too, by way of the outbox.
create schema delivery;

-- `sealed`: URL and secrets, under the key that only delivery holds. The row locks whoever changes or removes it against whoever makes deliveries for it.
create table delivery.webhooks (
  id uuid primary key,
  org_id text not null,
  agent text,
  events text[] not null,
  sealed bytea not null,
  created_by text not null,
  created_at timestamptz not null,
  disabled_at timestamptz,
  removed_at timestamptz,
  -- Attempts that failed since one was answered: such a receiver gets one at a time.
  failures integer not null default 0
) with (fillfactor = 70);
create index webhooks_live on delivery.webhooks (org_id, created_at) where removed_at is null;

create table delivery.deliveries (
  id uuid primary key,
  webhook_id uuid not null references delivery.webhooks (id),
  org_id text not null,
  type text not null,
  run_id uuid,
  event_id uuid,
  -- The bytes that are signed and sent, the same in every attempt.
  body text not null,
  -- After this it would tell of what is over.
  expires_at timestamptz,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead', 'cancelled')),
  attempts integer not null default 0,
  -- Attempts of the schedule that runs now; a person who sends it again starts it anew.
  tries integer not null default 0,
  next_attempt_at timestamptz not null,
  -- A process is at it until then. One that dies leaves it to the next.
  leased_until timestamptz,
  lease uuid,
  last_status integer,
  reason text,
  created_at timestamptz not null,
  settled_at timestamptz,
  unique (webhook_id, event_id)
) with (fillfactor = 70);
create index deliveries_due on delivery.deliveries (webhook_id, next_attempt_at) where state = 'pending';
create index deliveries_next on delivery.deliveries (next_attempt_at) where state = 'pending' and leased_until is null;
create index deliveries_leased on delivery.deliveries (webhook_id) where state = 'pending' and leased_until is not null;
create index deliveries_page on delivery.deliveries (webhook_id, created_at desc, id desc);
create index deliveries_settled on delivery.deliveries (settled_at) where settled_at is not null;

-- Written before an attempt begins and completed after it: one without an end belongs to a process that was lost.
create table delivery.attempts (
  delivery_id uuid not null references delivery.deliveries (id) on delete cascade,
  attempt integer not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  status integer,
  reason text,
  primary key (delivery_id, attempt)
);

-- Events that belong into the ledger because of what this schema already holds: written in the same transaction, appended under their id, then deleted.
create table delivery.outbox (
  event_id uuid primary key,
  org_id text not null,
  category text not null check (category in ('webhook', 'delivery')),
  stream_id uuid not null,
  type text not null,
  actor text not null,
  data jsonb not null,
  number bigint generated always as identity
);
create index outbox_number on delivery.outbox (number);
