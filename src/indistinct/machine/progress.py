"""Progress as plain text, for notebooks and scripts: a single line that is rewritten, without widgets."""

import sys
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(slots=True, eq=False)
class TextProgress:
    r"""A `progress` callback that writes the finished percentage on one line; it shows no value of any table.

    The line ends at 100 %. `stream` is where it is written, by default the current `sys.stderr`.

    >>> import io
    >>> line = TextProgress("anonymizing", stream=io.StringIO())
    >>> for share in (0.0, 0.001, 0.5, 1.0):
    ...     line(share)
    >>> line.stream.getvalue().split("\r")
    ['', 'anonymizing   0 %', 'anonymizing  50 %', 'anonymizing 100 %\n']
    """

    what: str = "working"
    stream: TextIO | None = None
    last: int = field(default=-1, init=False)

    def __call__(self, share: float) -> None:
        """Write the finished share if its percentage changed."""
        hundredths = int(100 * min(max(share, 0.0), 1.0))
        if hundredths == self.last:
            return
        self.last = hundredths
        stream = self.stream or sys.stderr
        stream.write(f"\r{self.what} {hundredths:3d} %" + ("\n" if share >= 1 else ""))
        stream.flush()
