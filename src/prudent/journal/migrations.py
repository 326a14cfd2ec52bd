"""The tables of a journal, and the steps from each version of them to the next.

A step only adds: a server of the version before may still be writing while a later one opens the journal.
"""

from prudent.errors import InputProblem
from prudent.journal.store import Session, Store

_VERSION_TABLE = "prudent_journal"

STEPS: tuple[tuple[str, ...], ...] = (
    (
        f"CREATE TABLE {_VERSION_TABLE} (version INTEGER NOT NULL)",
        f"INSERT INTO {_VERSION_TABLE} VALUES (0)",
        """CREATE TABLE prudent_journal_entries (
            id TEXT PRIMARY KEY,
            at TEXT NOT NULL,
            model TEXT NOT NULL,
            cells TEXT NOT NULL,
            advice TEXT NOT NULL,
            probability DOUBLE PRECISION NOT NULL,
            source TEXT NOT NULL,
            took TEXT,
            took_at TEXT,
            reward DOUBLE PRECISION,
            reward_at TEXT
        )""",
    ),
    (
        """CREATE TABLE prudent_journal_corrections (
            id TEXT NOT NULL REFERENCES prudent_journal_entries (id),
            what TEXT NOT NULL,
            value TEXT NOT NULL,
            value_at TEXT NOT NULL,
            replaced_at TEXT NOT NULL
        )""",
        "CREATE INDEX prudent_journal_by_model ON prudent_journal_entries (model, at)",
    ),
    ("ALTER TABLE prudent_journal_entries ADD COLUMN declined_at TEXT",),
)
"""What leads from version 0, which is nothing, to 1, from 1 to 2, and so on."""
VERSION = len(STEPS)
TABLES = ("prudent_journal_corrections", "prudent_journal_entries", _VERSION_TABLE)


def prepare(store: Store, place: str, must_exist: bool) -> None:
    """Make the tables, or bring those of an earlier version to this one."""
    with store.transaction(write=False) as session:
        if _version(store, session) == VERSION:
            return
    with store.transaction() as session:
        store.lock(session)
        found = _version(store, session)
        if found == 0 and must_exist:
            raise InputProblem(f"'{place}' holds no journal; check the name, or let 'prudent serve' write one.")
        if found == 0 and store.is_foreign(session):
            raise InputProblem(f"'{place}' is a database with other tables; name a new file for the journal.")
        if found > VERSION:
            raise InputProblem(
                f"The journal '{place}' has version {found}, and this prudent reads up to version {VERSION}; install "
                f"a later prudent."
            )
        for step in STEPS[found:]:
            for statement in step:
                session.change(statement)
        session.change(f"UPDATE {_VERSION_TABLE} SET version = ?", (VERSION,))


def _version(store: Store, session: Session) -> int:
    return (
        session.rows(f"SELECT version FROM {_VERSION_TABLE}")[0][0] if store.has_table(session, _VERSION_TABLE) else 0
    )
