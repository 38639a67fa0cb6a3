"""How many replies a page has room for."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.report.rows import heft


class Room:
    """How many bytes are left for replies, and how many replies and groups of them went without."""

    def __init__(self, size: int, a_reply: int) -> None:
        """`a_reply` is what a reply's row takes beside its words."""
        self._left, self._a_reply = size, a_reply
        self.groups = self.replies = 0

    def takes(self, texts: Sequence[str], beside: int = 0) -> bool:
        """Whether a group of replies fits, with so many bytes beside them; it then has its room."""
        wanted = beside + sum(self._a_reply + heft(text) for text in texts)
        if wanted > self._left:
            self.groups += 1
            self.replies += len(texts)
            return False
        self._left -= wanted
        return True
