-- What runs has promised to erase: written before the first key goes, done after the record says so. Whatever stopped in between is taken up again.
create table runs.erasures (
  run_id uuid not null,
  class text not null check (class in ('projection', 'rest')),
  org_id text not null,
  cause text not null check (cause in ('requested', 'retention')),
  requested_by text not null,
  requested_at timestamptz not null default now(),
  done_at timestamptz,
  primary key (run_id, class)
);
create index erasures_open on runs.erasures (requested_at) where done_at is null;
