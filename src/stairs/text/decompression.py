"""gz, xz and zst files inflated block by block."""

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from stairs.errors import BadInput

COMPRESSED_BLOCK = 4096  # bytes at a time: even at zstd's highest ratio they inflate to what fits in memory


def inflate(file: BinaryIO, compression: str, name: str) -> Iterator[bytes]:
    """Decompress streams that follow one another in a file, as gzip, xz and zstd do."""
    new = decompressor(compression)
    decoder = None
    try:
        while block := file.read(COMPRESSED_BLOCK):
            while block:
                if decoder is None:
                    block = block.lstrip(b"\0")  # padding between streams
                    if not block:
                        break
                    decoder = new()
                out = decoder.decompress(block)
                block = b""
                if decoder.eof:
                    block, decoder = decoder.unused_data, None
                if out:
                    yield out
    except (zlib.error, lzma.LZMAError, ValueError) as error:
        where = f"{name}: damaged {compression} data near byte {file.tell():,}"
        raise BadInput(f"{where} ({str(error)[:60]}); get the file again") from None
    if decoder is not None:
        where = f"{name}: ends in the middle of its {compression} data at byte {file.tell():,}"
        raise BadInput(f"{where}; the file is cut short, get all of it")


def decompressor(compression: str) -> Callable:
    if compression == ".gz":
        return lambda: zlib.decompressobj(31)
    if compression == ".xz":
        return lzma.LZMADecompressor
    import zstandard

    class ZstdStream:
        """zstandard's decompressor, with a built-in exception."""

        def __init__(self):
            self.decoder = zstandard.ZstdDecompressor().decompressobj()

        def decompress(self, block: bytes) -> bytes:
            try:
                return self.decoder.decompress(block)
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from None

        eof = property(lambda self: self.decoder.eof)
        unused_data = property(lambda self: self.decoder.unused_data)

    return ZstdStream
