"""Archives and source packages that are the same, byte for byte, whenever they are made of the same files."""

import gzip
import io
import tarfile
from collections.abc import Mapping


def packed(files: Mapping[str, bytes], epoch_s: int, *, zipped: bool = True) -> bytes:
    """Pack files into a ``tar.gz``, or a ``tar``, that holds nothing of the machine or the hour.

    Parameters
    ----------
    files
        Contents by path.
    epoch_s
        The time that all of them get, in seconds since 1970.
    zipped
        Whether to compress them; files that already are gain nothing.

    Returns
    -------
    bytes
        The archive: paths in order, owned by root, readable by all.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files):
            member = tarfile.TarInfo(path)
            member.size, member.mtime, member.mode = len(files[path]), epoch_s, 0o644
            archive.addfile(member, io.BytesIO(files[path]))
    # The level is stated, as the default may change.
    return gzip.compress(content.getvalue(), compresslevel=9, mtime=epoch_s) if zipped else content.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    """Return the files of a ``tar.gz`` or a ``tar`` by path; folders and links are left out."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as opened:
        return {
            member.name: content.read()
            for member in opened.getmembers()
            if member.isfile() and (content := opened.extractfile(member)) is not None
        }
