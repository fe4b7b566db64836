-- One tree's contents, what was last seen of it, and what steps did to it.
create table if not exists contents (
    sha text primary key,
    data blob not null
);
create table if not exists seen (
    path text primary key,
    mtime integer not null,
    ctime integer not null,
    size integer not null,
    inode integer not null,
    mode integer not null,
    content text not null
) without rowid;
-- calls: ids, as JSON. changes: JSON, null while the step runs. due: 1 a rewind that the ledger may lack, 2 one to be finished.
create table if not exists steps (
    number integer primary key,
    step text not null unique,
    store text not null,
    session text not null,
    calls text not null,
    owner text not null,
    changes text,
    is_recorded integer not null default 0,
    due integer not null default 0
);
