-- The ledger in PostgreSQL: the same tables and the same chain as in SQLite. Whoever owns these
-- tables can switch the triggers off, so an application never does: it has a role of its own, which
-- may read and insert, and nothing else.

create schema ledger;
comment on schema ledger is 'equipoise ledger 1';

create table ledger.dictionaries (
    id bigint primary key,
    bytes bytea not null
);

create table ledger.stimuli (
    stamp text primary key,
    body bytea not null
);

create table ledger.subjects (
    id bigint primary key,
    stamp text not null unique,
    body text not null
);

create table ledger.requests (
    id bigint primary key,
    stamp bytea not null unique,
    subject bigint not null,
    salt bytea not null,
    dictionary bigint not null,
    body bytea not null
);

create table ledger.entries (
    seq bigint primary key,
    kind text not null
        check (kind in ('run','intent','reply','fault','unknown','note','erased')),
    run bigint not null,
    key text,
    stage text,
    attempt integer,
    request bigint,
    intent bigint,
    at bigint not null,      -- microseconds since 1970, UTC
    micros bigint,           -- from sending to the last byte
    status integer,          -- HTTP status
    link bytea not null,     -- SHA-256 of the link before and of this entry
    check (intent is not null or kind in ('run','intent','note'))
);

create unique index one_intent on ledger.entries (run, key, stage, attempt)
    where kind = 'intent';
create unique index one_run on ledger.entries (key) where kind = 'run';
create unique index one_outcome on ledger.entries (intent)
    where kind in ('reply','fault','unknown');
create unique index one_erasure on ledger.entries (intent) where kind = 'erased';

create table ledger.words (
    seq bigint primary key,
    salt bytea not null,
    dictionary bigint not null,
    body bytea not null
);
-- Bodies are compressed already.
alter table ledger.words alter column body set storage external;
alter table ledger.requests alter column body set storage external;

create function ledger.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'the ledger is append-only';
end $$;

create function ledger.in_sequence() returns trigger language plpgsql as $$
begin
    if new.seq is distinct from (select coalesce(max(seq), 0) + 1 from ledger.entries) then
        raise exception 'the ledger is append-only: entry out of sequence';
    end if;
    return new;
end $$;

create function ledger.words_of_an_entry() returns trigger language plpgsql as $$
begin
    if not exists (select from ledger.entries where seq = new.seq)
        or exists (select from ledger.entries where kind = 'erased' and intent = new.seq) then
        raise exception 'the ledger is append-only: words without an entry';
    end if;
    return new;
end $$;

create function ledger.only_erased() returns trigger language plpgsql as $$
begin
    if not exists (select from ledger.entries where kind = 'erased' and intent = old.seq) then
        raise exception 'the ledger is append-only: words go only after an erasure';
    end if;
    return old;
end $$;

create trigger entries_in_sequence before insert on ledger.entries
    for each row execute function ledger.in_sequence();
create trigger entries_no_change before delete or update or truncate on ledger.entries
    for each statement execute function ledger.refuse();
create trigger words_once before insert on ledger.words
    for each row execute function ledger.words_of_an_entry();
create trigger words_no_delete before delete on ledger.words
    for each row execute function ledger.only_erased();
create trigger words_no_change before update or truncate on ledger.words
    for each statement execute function ledger.refuse();
create trigger requests_no_change before delete or update or truncate on ledger.requests
    for each statement execute function ledger.refuse();
create trigger subjects_no_change before delete or update or truncate on ledger.subjects
    for each statement execute function ledger.refuse();
create trigger stimuli_no_change before delete or update or truncate on ledger.stimuli
    for each statement execute function ledger.refuse();
create trigger dictionaries_no_change before delete or update or truncate on ledger.dictionaries
    for each statement execute function ledger.refuse();

-- The one thing that is taken out: the words of an entry that a tombstone says is erased. It runs
-- as the owner, since the application may not delete, and the trigger above holds for it too.
create function ledger.forget(erased bigint) returns void
    language sql security definer set search_path = pg_catalog, pg_temp as
    $$ delete from ledger.words where seq = erased $$;
revoke execute on function ledger.forget(bigint) from public;

-- What follows is coordination between workers, not record: it lies outside the chain and may be
-- emptied when no run is going on.

-- Each trial of a run that is shared among workers. `fence` is the number of the lease it was
-- given under, each higher than the last; an intent is written only while its lease holds.
create table ledger.leases (
    run bigint not null,
    trial text not null,
    place bigint not null,
    worker text,
    fence bigint not null default 0,
    until timestamptz not null default '-infinity',
    done boolean not null default false,
    primary key (run, trial)
);
create index leases_left on ledger.leases (run, place) where not done;
create sequence ledger.fences;

-- What all workers of a run share: whether to go on, and what was spent. An intent adds its call
-- and its worst cost in the transaction that writes it, and what came of it puts the cost right in
-- its own; so a worker that dies leaves what it had in flight counted at its worst.
create table ledger.teams (
    run bigint primary key,
    stopped text,
    code integer not null default 0,
    max_calls bigint,
    calls bigint not null default 0,
    max_usd double precision,
    usd double precision not null default 0
);

-- The book of budgets: caps that runs share, and what each run has taken of them.
create table ledger.caps (
    budget text primary key,
    usd double precision,    -- null: money is not capped
    calls bigint             -- null: calls are not capped
);
create table ledger.shares (
    budget text not null,
    run text not null,
    usd double precision not null,
    calls bigint not null,
    settled_usd double precision not null,
    settled_calls bigint not null,
    primary key (budget, run)
);

-- When the next call of a run may begin, in seconds since 1970 by the server's clock.
create table ledger.paces (
    run bigint primary key,
    gap double precision not null,
    due double precision not null default 0
);
