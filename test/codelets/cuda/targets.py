#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""targets.py OBJECT...: each object file holds code for the GPUs that it shall run on: sm_80 and sm_90 as it is, all
others since 2018 from PTX for compute_75. Reads what `cuobjdump --list-elf --list-ptx` lists, which few have."""
import struct
import sys

EXPECTED = {("PTX", 75), ("ELF", 80), ("ELF", 90)}
MAGIC = struct.pack("<I", 0xBA55ED50)  # of a "fat binary": a header, then entries with one of their own


def targets(data):
    found = set()
    begin = data.find(MAGIC)
    while begin >= 0:
        header_bytes, bytes_after = struct.unpack_from("<HQ", data, begin + 6)
        entry, end = begin + header_bytes, begin + header_bytes + bytes_after
        while entry < end:
            kind, _, header_bytes, bytes_after = struct.unpack_from("<HHIQ", data, entry)
            found.add(({1: "PTX", 2: "ELF"}.get(kind, kind), struct.unpack_from("<I", data, entry + 28)[0]))
            entry += header_bytes + bytes_after
        begin = data.find(MAGIC, end)
    return found


wrong = 0
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        found = targets(file.read())
    if found != EXPECTED:
        print(f"{path}: has {sorted(found)}, should have {sorted(EXPECTED)}")
        wrong += 1
sys.exit(wrong > 0 or len(sys.argv) == 1)
