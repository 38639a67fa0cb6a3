-- The ledger. One chain of entries, in the order they were written; what they carry lies beside
-- them, so that a person's words can be erased while the chain still verifies.

create table dictionaries (
    id integer primary key,
    bytes blob not null
) strict;

-- What subjects were shown: every file of a suite, named by content.
create table stimuli (
    stamp text primary key,
    body blob not null
) strict, without rowid;

create table subjects (
    id integer primary key,
    stamp text not null unique,
    body text not null
) strict;

-- Each exact request once, however often it is asked. `stamp` is SHA-256 of the subject's stamp,
-- a line feed and the bytes sent; `body` is those bytes, compressed.
create table requests (
    id integer primary key,
    stamp blob not null unique,
    subject integer not null references subjects,
    salt blob not null,
    dictionary integer not null,
    body blob not null
) strict;

-- kind      run    | intent          | reply, fault, unknown  | note, erased
-- run       itself | the run's seq   | the run's seq          | the run's seq
-- key       name   | subject/item/…  | -                      | what it is about
-- intent    -      | -               | the intent it settles  | the entry erased
create table entries (
    seq integer primary key,
    kind text not null check (kind in ('run','intent','reply','fault','unknown','note','erased')),
    run integer not null,
    key text,
    stage text,
    attempt integer,
    request integer references requests,
    intent integer,
    at integer not null,     -- microseconds since 1970, UTC
    micros integer,          -- from sending to the last byte
    status integer,          -- HTTP status
    link blob not null       -- SHA-256 of the link before and of this entry
) strict;

create unique index one_intent on entries (run, key, stage, attempt) where kind = 'intent';
create unique index one_run on entries (key) where kind = 'run';
create unique index one_outcome on entries (intent) where kind in ('reply','fault','unknown');
create unique index one_erasure on entries (intent) where kind = 'erased';

-- What an entry carries: a reply's headers and bytes, a registration, a reason.
create table words (
    seq integer primary key references entries,
    salt blob not null,
    dictionary integer not null,
    body blob not null
) strict;

create trigger entries_no_update before update on entries
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger entries_no_delete before delete on entries
    begin select raise(abort, 'the ledger is append-only'); end;
-- Before-insert guards: INSERT OR REPLACE deletes without firing a delete trigger.
create trigger entries_in_sequence before insert on entries
    when new.seq is null or new.seq <> (select coalesce(max(seq), 0) + 1 from entries)
    begin select raise(abort, 'the ledger is append-only: entry out of sequence'); end;
create trigger entries_one_intent before insert on entries
    when new.kind = 'intent' and exists (
        select 1 from entries where kind = 'intent'
        and (run, key, stage, attempt) = (new.run, new.key, new.stage, new.attempt))
    begin select raise(abort, 'the ledger is append-only: this attempt is on record'); end;
create trigger entries_one_run before insert on entries
    when new.kind = 'run' and exists (select 1 from entries where kind = 'run' and key = new.key)
    begin select raise(abort, 'the ledger is append-only: this run is on record'); end;
create trigger entries_one_outcome before insert on entries
    when new.kind in ('reply','fault','unknown') and (new.intent is null or exists (
        select 1 from entries where kind in ('reply','fault','unknown') and intent = new.intent))
    begin select raise(abort, 'the ledger is append-only: this intent is settled'); end;

create trigger entries_one_erasure before insert on entries
    when new.kind = 'erased' and (new.intent is null or exists (
        select 1 from entries where kind = 'erased' and intent = new.intent))
    begin select raise(abort, 'the ledger is append-only: this entry is erased'); end;

create trigger words_no_update before update on words
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger words_no_delete before delete on words
    when not exists (select 1 from entries where kind = 'erased' and intent = old.seq)
    begin select raise(abort, 'the ledger is append-only: words go only after an erasure'); end;
create trigger words_once before insert on words
    when exists (select 1 from words where seq = new.seq)
      or exists (select 1 from entries where kind = 'erased' and intent = new.seq)
    begin select raise(abort, 'the ledger is append-only'); end;

create trigger requests_no_update before update on requests
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger requests_no_delete before delete on requests
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger requests_once before insert on requests
    when exists (select 1 from requests where id = new.id or stamp = new.stamp)
    begin select raise(abort, 'the ledger is append-only'); end;

create trigger subjects_no_update before update on subjects
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger subjects_no_delete before delete on subjects
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger subjects_once before insert on subjects
    when exists (select 1 from subjects where id = new.id or stamp = new.stamp)
    begin select raise(abort, 'the ledger is append-only'); end;

create trigger stimuli_no_update before update on stimuli
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger stimuli_no_delete before delete on stimuli
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger stimuli_once before insert on stimuli
    when exists (select 1 from stimuli where stamp = new.stamp)
    begin select raise(abort, 'the ledger is append-only'); end;

create trigger dictionaries_no_update before update on dictionaries
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger dictionaries_no_delete before delete on dictionaries
    begin select raise(abort, 'the ledger is append-only'); end;
create trigger dictionaries_once before insert on dictionaries
    when exists (select 1 from dictionaries where id = new.id)
    begin select raise(abort, 'the ledger is append-only'); end;
