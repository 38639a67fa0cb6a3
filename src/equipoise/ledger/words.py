"""Words as they lie in the ledger: packed, compressed, and unpacked to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import zstandard

from equipoise.terms import Reply

TRAIN_AFTER, DICTIONARY_BYTES = 400, 8192
PLAIN = 0


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


def train(samples: Iterable[bytes]) -> bytes:
    """A dictionary for words like these; empty where they have too little in common.

    >>> train([b"a", b"b"])
    b''
    """
    found: list[bytes | bytearray | memoryview[int]] = list(samples)
    try:
        return zstandard.train_dictionary(DICTIONARY_BYTES, found, level=3).as_bytes()
    except (zstandard.ZstdError, ValueError):
        return b""


def _compressor(data: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(
        level=3, dict_data=data, write_checksum=False, write_dict_id=False
    )
