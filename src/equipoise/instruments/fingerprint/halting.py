"""Until dissent: a pair that can no longer commit is not asked further."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.terms import Nonresponse, Observation, Trial

if TYPE_CHECKING:
    from equipoise.instruments.fingerprint.instrument import Choice


class UntilDissent:
    """Skips the rest of a pair once a cell refused, was unread, or named the other word.

    The fingerprint is the same as with every cell asked, since such a pair holds no preference
    either way; sharpness and the effects of position, framing and language are not.
    """

    def __init__(self, reader: str) -> None:
        self._reader = reader
        self._named: dict[tuple[str, str, str, int], str] = {}
        self._dissented: set[tuple[str, str, str, int]] = set()

    def needs(self, trial: Trial) -> bool:
        return _block(trial) not in self._dissented

    def saw(self, observation: Observation[Choice]) -> None:
        cell = observation.value.readings[self._reader].value
        if isinstance(cell, Nonresponse) and cell.kind == "not asked":
            return
        block = _block(observation.trial)
        if isinstance(cell, Nonresponse) or self._named.setdefault(block, cell) != cell:
            self._dissented.add(block)


def _block(trial: Trial) -> tuple[str, str, str, int]:
    return trial.subject.name, trial.condition["answer"], trial.item, trial.draw
