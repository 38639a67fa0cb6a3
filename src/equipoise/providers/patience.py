"""How long to go on: the tries of one call, and what ends a run that more calls cannot mend."""

from __future__ import annotations

import random
from dataclasses import dataclass

from equipoise.terms import Fault, Misuse

DOWN_AFTER = 20
LONGEST_WAIT = 600.0


@dataclass(frozen=True)
class Patience:
    """How one call is tried again: at most `attempts` tries, waits drawn with full jitter."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def wait(self, tries: int) -> float:
        """Seconds before the next try, after `tries` of them: uniform up to a doubling bound."""
        return random.uniform(0, min(self.longest_wait, self.first_wait * 2 ** (tries - 1)))


USUAL = Patience()


def reason_to_stop(fault: Fault) -> Misuse | None:
    """Why one fault ends the run, or nothing where the next call may fare better.

    >>> reason_to_stop(Fault("auth", "status 401")).code
    4
    >>> reason_to_stop(Fault("server error", "status 500", transient=True))
    """
    if (fault.retry_after or 0.0) > LONGEST_WAIT:
        return Misuse(
            f"The provider asks to be left alone for {fault.retry_after:,.0f} seconds"
            f" ({fault.detail}). Nothing more was sent. Give the same command again then.", 75)
    if fault.kind == "auth":
        return Misuse(
            f"The provider refused the key ({fault.detail}). Nothing more was sent."
            " Set the right key, then give the same command again.", 4)
    if fault.kind == "not found":
        return Misuse(
            f"The provider does not know this model or address ({fault.detail})."
            " Check the subject's model and base URL.", 2)
    if fault.kind == "over budget":
        return Misuse(f"{fault.detail} Give the same command again with a higher cap.", 7)
    return None


def is_down(failing: int, fault: Fault) -> Misuse | None:
    """Why `failing` calls in a row that came to nothing, the last with this fault, end the run."""
    if failing < DOWN_AFTER:
        return None
    advice = ("Check the base URL." if fault.kind == "malformed"
              else "Give the same command again later.")
    return Misuse(
        f"{failing} calls in a row came to nothing, the last with {fault.kind}: {fault.detail}."
        f" Nothing more was sent. {advice}", 75)
