"""A process that writes until it is killed: `python writer_process.py FILE FIRST`.

Prints the number of each commit once `append` has returned, so that the test knows what was promised. Checkpoints
every 7 commits and compacts every 40. Imports core alone, to start fast.
"""

from __future__ import annotations

import os
import sys


def main(path: str, first: int) -> None:
    from memhop.core.meh_file import MehFile, Write

    file = MehFile.open(path, purpose="writer")
    number = first
    while True:
        payload = b"%d " % number * (number % 50 + 1)
        file.append([Write(0x10, number, payload), Write(0x21, 1_000_000 + number % 9, payload)])
        os.write(1, b"%d\n" % number)
        if number % 7 == 0:
            file.checkpoint({}, meta={"number": number})
        if number % 40 == 0:
            file.compact(dict, meta={}, keep_history=number % 80 == 0)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
