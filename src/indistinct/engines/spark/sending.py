"""What the driver sends to workers, and what they do with it: a method of something that goes to them by broadcast."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

THREADS = "INDISTINCT_THREADS"


@dataclass(frozen=True, slots=True, eq=False)
class Sender:
    """What one job has sent to the workers of a session, so that nothing of it stays there."""

    session: Any
    sent: list[Any] = field(default_factory=list)

    def run(self, frame: Any, holder: Any, method: str, schema: Any) -> Any:
        """Map a frame by a method of `holder`, which is sent to the workers."""
        sent = self.session.sparkContext.broadcast(Pickled(pickle.dumps(holder, pickle.HIGHEST_PROTOCOL)))
        self.sent.append(sent)

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            # Spark runs as many tasks as there are cores: threads of one would take those of the others.
            os.environ.setdefault(THREADS, "1" if context is None else str(max(context.cpus(), 1)))
            return getattr(sent.value, method)(batches, 0 if context is None else context.partitionId())

        return frame.mapInArrow(work, schema)

    def forget(self) -> None:
        """Remove from workers and driver what was sent."""
        for each in self.sent:
            each.destroy()
        self.sent.clear()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pickled:
    """A value as bytes, which becomes the value itself where it is unpickled.

    A session that encrypts takes bytes of any length for a broadcast, and no array above 64 KB.
    """

    content: bytes

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (self.content,)
