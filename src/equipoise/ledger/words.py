"""Words as they lie in the ledger: packed, compressed, and unpacked to the same bytes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import zstandard

from equipoise.terms import Reply

TRAIN_AFTER, DICTIONARY_BYTES = 400, 8192
PLAIN = 0
QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')


def pack_reply(reply: Reply) -> bytes:
    """A reply's headers as one line of JSON, then its bytes as they came.

    >>> pack_reply(Reply(b"\\xff", headers=(("x-id", "1"),)))
    b'[["x-id","1"]]\\n\\xff'
    """
    return json.dumps(reply.headers, separators=(",", ":")).encode() + b"\n" + reply.body


def unpack_reply(packed: bytes, status: int, micros: int) -> Reply:
    """The reply that `pack_reply` packed.

    >>> unpack_reply(b'[["x-id","1"]]\\n\\xff', 200, 1500)
    Reply(body=b'\\xff', status=200, headers=(('x-id', '1'),), seconds=0.0015)
    """
    headers, _, body = packed.partition(b"\n")
    pairs = () if headers == b"[]" else tuple((n, v) for n, v in json.loads(headers))
    return Reply(body, status, pairs, micros / 1e6)


class Codec:
    """Compresses and restores; dictionary 0 means none, the others are rows of the ledger."""

    def __init__(self, dictionaries: Mapping[int, bytes]) -> None:
        self._compressors = {PLAIN: _compressor(None)}
        self._decompressors = {PLAIN: zstandard.ZstdDecompressor()}
        for number, trained in dictionaries.items():
            self.add(number, trained)

    def add(self, number: int, trained: bytes) -> None:
        data = zstandard.ZstdCompressionDict(trained)
        data.precompute_compress(level=3)
        self._compressors[number] = _compressor(data)
        self._decompressors[number] = zstandard.ZstdDecompressor(dict_data=data)

    def knows(self, number: int) -> bool:
        return number in self._decompressors

    def compress(self, words: bytes, dictionary: int) -> bytes:
        return self._compressors[dictionary].compress(words)

    def restore(self, body: bytes, dictionary: int) -> bytes:
        return self._decompressors[dictionary].decompress(body)


def train(samples: Iterable[bytes], *, shown: bool = False) -> bytes:
    """A dictionary for words like these; empty where they have too little in common.

    Of replies only the envelopes are used; what subjects are `shown` is used whole.

    >>> train([b"a", b"b"])
    b''
    """
    found: list[bytes | bytearray | memoryview[int]] = (
        list(samples) if shown else [*envelopes(list(samples))]
    )
    try:
        return zstandard.train_dictionary(DICTIONARY_BYTES, found, level=3).as_bytes()
    except (zstandard.ZstdError, ValueError):
        return b""


def envelopes(replies: Sequence[bytes]) -> list[bytes]:
    """Replies without what only some of them say, so that a dictionary holds nobody's words.

    A text between quotes stays where it stands in at least half of them.

    >>> envelopes([b'{"text":"Ann"}', b'{"text":"Bob"}', b'{"text":"Eve"}'])
    [b'{"text":""}', b'{"text":""}', b'{"text":""}']
    """
    counts = Counter(text for reply in replies for text in set(QUOTED.findall(reply)))
    common = {text for text, times in counts.items() if 2 * times >= len(replies)}
    return [
        QUOTED.sub(lambda m: m[0] if m[0] in common else b'""', reply) for reply in replies
    ]


def _compressor(data: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(
        level=3, dict_data=data, write_checksum=False, write_dict_id=False
    )
