-- A limit for every month stands in the row of period 'month', and the row of each new month takes it. Nothing is charged to that row.
--
-- The look at the own row comes first: an append that finds its accounts there (nearly all) reads one index entry and takes no lock on the limit. One that
-- makes the row waits for whoever is changing the limit, and who changes it after that finds the row.
create function ledger.take_monthly_limit() returns trigger language plpgsql as $$
begin
  if new."limit" is null and not exists (select from ledger.budget_accounts b where b.scope = new.scope and b.period = new.period) then
    select b."limit" into new."limit" from ledger.budget_accounts b where b.scope = new.scope and b.period = 'month' for share;
  end if;
  return new;
end $$;
create trigger budget_accounts_month before insert on ledger.budget_accounts
for each row when (new.period like '____-__') execute function ledger.take_monthly_limit();

-- Who set which limit when, for ever.
create table ledger.budget_limits (
  id bigint generated always as identity primary key,
  scope text collate "C" not null,
  period text collate "C" not null check (period in ('total', 'month')),
  "limit" bigint check ("limit" >= 0),
  set_by text not null,
  set_at timestamptz not null default now()
);
create index budget_limits_account on ledger.budget_limits (scope, period, id);
create trigger budget_limits_append_only before update or delete or truncate on ledger.budget_limits for each statement execute function ledger.refuse_change();

-- The months from this one on follow; those that are over keep the limit they had.
create function ledger.set_budget_limit(p_scope text, p_period text, p_month text, p_limit bigint, p_by text) returns void language plpgsql as $$
begin
  insert into ledger.budget_limits (scope, period, "limit", set_by) values (p_scope, p_period, p_limit, p_by);
  insert into ledger.budget_accounts (scope, period, "limit") values (p_scope, p_period, p_limit)
  on conflict (scope, period) do update set "limit" = excluded."limit", updated_at = now();
  if p_period = 'month' then
    insert into ledger.budget_accounts (scope, period, "limit") values (p_scope, p_month, p_limit) on conflict do nothing;
    update ledger.budget_accounts set "limit" = p_limit, updated_at = now() where scope = p_scope and period >= p_month and period like '____-__';
  end if;
end $$;

-- Real usage that was told after its run had ended and been charged in full. Its stream is closed, so the difference stands here: the accounts are the
-- events plus these.
create table ledger.budget_corrections (
  reservation_id uuid primary key,
  org_id text not null,
  run_id uuid not null,
  agent text not null,
  month text not null,
  cost_micro_usd bigint not null,
  at timestamptz not null default now()
);
create trigger budget_corrections_append_only before update or delete or truncate on ledger.budget_corrections for each statement execute function ledger.refuse_change();
