"""Publishing a recoding by any engine, without the pipeline around it."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pyarrow as pa

from indistinct.engines.memory import Memory
from indistinct.engines.memory.count import count_table
from indistinct.frequencies.count import Request
from indistinct.machine.randomness import Secret
from indistinct.recoding.assign import assign
from indistinct.recoding.outputs import MAIN
from indistinct.release.opening import BucketTable
from indistinct.tables import Reading, open_table

MEMORY = Memory()


@dataclass
class Kept:
    """A sink that keeps tables."""

    tables: dict = field(default_factory=dict)

    def accept(self, name, batches):
        self.tables[name] = pa.concat_tables(batches)


@dataclass
class OpenedTables:
    tables: dict
    assignment: object

    table = property(lambda self: self.tables[MAIN])
    schema = property(lambda self: self.assignment.layout.schema)


def count_again(engine, source, recoding, keys=()):
    """Count a source in the codes of a recoding, as `apply` does."""
    wanted = tuple(dict.fromkeys([*recoding.counted_keys, *keys]))
    domains = {domain.column: domain for domain in recoding.recoded_domains}
    request = Request(tuple(domains), wanted, joint=bool(recoding.counted_keys), domains=domains)
    return engine.count(source, request)


def publish(recoding, table, *, schema, engine=MEMORY, seed=None, counted=None, source=None):
    """Return what an engine publishes; with `counted` and its `source` the table is not counted again."""
    recoding = replace(recoding, schema=schema)
    source = source or engine.open(table, Reading())
    counted = counted or count_again(engine, source, recoding)
    assignment = assign(counted.frequencies, recoding)
    sink = Kept()
    engine.publish(source, assignment, sink, secret=Secret(seed), row_index=counted.row_index)
    return OpenedTables(sink.tables, assignment)


def counted_with_rows(table, request):
    """Return what memory counts, and the rows behind each cell as `grouping`."""
    counted, grouping = count_table(open_table(table), request)
    return SimpleNamespace(
        domains=counted.domains, frequencies=counted.frequencies, known=counted.known, grouping=grouping
    )


def bucket_table(release, *, table=None, sensitive=None):
    """Return a release in buckets as readers meet it, with other tables in the place of its own."""
    buckets, others = release.buckets, release.others
    main = release.table if table is None else table
    apart = others.get("sensitive") if sensitive is None else sensitive
    return BucketTable(main, buckets.slices, buckets.form, apart, buckets.generalized)
