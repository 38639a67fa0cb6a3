"""The append-only record of every call: intents before, replies after, and nothing changed.

What is stored: each exact request once; for every try at a call an intent, written and made
durable before anything is sent, and what came of it, byte for byte; each run's registration and
stimuli. What can be trusted: an entry that an append returned for survives the process; each
entry is linked to all before it by SHA-256; readings are never stored.
"""

from equipoise.ledger.budget_book import (
    Book,
    BudgetBook,
    Cap,
    Share,
    Totals,
    found_book,
    open_book,
)
from equipoise.ledger.chain import Head
from equipoise.ledger.copying import copy
from equipoise.ledger.place import Database, Where, place
from equipoise.ledger.store import Ledger, Recorded, Run, Sent
from equipoise.ledger.verify import Verification, verify

__all__ = [
    "Book", "BudgetBook", "Cap", "Database", "Head", "Ledger", "Recorded", "Run", "Sent", "Share",
    "Totals", "Verification", "Where", "copy", "found_book", "open_book", "place", "verify",
]
