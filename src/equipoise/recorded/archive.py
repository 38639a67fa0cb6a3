"""The members of a zip file, in memory: no name is ever a path, and nothing unpacks without end."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

import zstandard

from equipoise.recorded.record import NotARecord

MOST_MEMBERS, LARGEST, LARGEST_WHOLE, MOST_TIMES = 500_000, 256_000_000, 8_000_000_000, 2_000
STORED, DEFLATED, ZSTD = 0, 8, 93
LOCAL = struct.Struct("<4s22xHH")


class Archive:
    """A zip file: the members' names, and the bytes of each.

    Of two members with one name the later counts, as the tools that append to them read it.
    Raises NotARecord for what is no whole zip file or claims to unpack to more than is allowed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with zipfile.ZipFile(path) as archive:
                found = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError,
                OverflowError, struct.error) as error:
            raise NotARecord(f"not a whole zip file ({error})") from error
        if len(found) > MOST_MEMBERS:
            raise NotARecord(f"{len(found):,} members; at most {MOST_MEMBERS:,} are read")
        if sum(info.file_size for info in found) > LARGEST_WHOLE:
            raise NotARecord(f"its members unpack to more than {LARGEST_WHOLE:,} bytes")
        self._members = {info.filename: info for info in found}

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        """A member's bytes, checked against its sum; raises NotARecord."""
        info, where = self._members[name], f"member {name!r}: "
        if info.flag_bits & 1:
            raise NotARecord(f"{where}encrypted")
        size = info.file_size
        if size > LARGEST or size > MOST_TIMES * max(info.compress_size, 500):
            raise NotARecord(f"{where}claims to unpack to {size:,} bytes from"
                             f" {info.compress_size:,}")
        try:
            made = _unpacked(self._packed(info), info.compress_type, size + 1)
        except (OSError, ValueError, struct.error, zlib.error, zstandard.ZstdError) as error:
            raise NotARecord(f"{where}damaged ({error})") from error
        if len(made) != size or zlib.crc32(made) != info.CRC:
            raise NotARecord(f"{where}damaged: it is not what its sum says")
        return made

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        with self._path.open("rb") as file:
            file.seek(info.header_offset)
            mark, name, extra = LOCAL.unpack(file.read(LOCAL.size))
            if mark != b"PK\x03\x04":
                raise ValueError("no member begins where one should")
            file.seek(name + extra, io.SEEK_CUR)
            return file.read(info.compress_size)


def _unpacked(packed: bytes, method: int, most: int) -> bytes:
    """At most so many bytes of what was packed."""
    if method == STORED:
        return packed[:most]
    if method == DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
    if method == ZSTD:
        frames = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        return frames.read(most)
    raise ValueError(f"packed by method {method}; stored, deflate and zstd are read")
