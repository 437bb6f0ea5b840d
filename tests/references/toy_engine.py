"""The smallest engine: rows in a Python list. It passes the laws of engines, so the seam is real."""

import secrets
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from indistinct.engines.base import EVERY_RECODING
from indistinct.machine.randomness import mix_words
from indistinct.tables import Reading
from indistinct.tables.domain import kind_of, plain_column
from references.plain_counting import canonical, count_rows, spelled


@dataclass(frozen=True, eq=False)
class Rows:
    schema: pa.Schema
    raw: list
    canonical: pa.Schema
    data: list
    reading: Reading = field(default_factory=Reading)
    columns = property(lambda self: tuple(self.schema.names))
    kinds = property(lambda self: {column.name: kind_of(column.type) for column in self.schema})
    rows = property(lambda self: len(self.data))


@dataclass(frozen=True, eq=False)
class ToyRows:
    vectors: np.ndarray
    cells: list
    joints: list


class Toy:
    name = "toy"
    supports = EVERY_RECODING
    writes_by_workers = False

    def open(self, source, reading=None):
        source = getattr(source, "data", source)
        plain = pa.table({n: canonical(plain_column(n, source[n])) for n in source.column_names})
        return Rows(source.schema, source.to_pylist(), plain.schema, plain.to_pylist(), reading or Reading())

    def count(self, source, request):
        counted, cells, joint = count_rows(source.data, source.canonical, request)
        return replace(counted, row_index=ToyRows(counted.frequencies.vectors, cells, joint))

    def publish(self, source, assignment, sink, *, secret, row_index=None):
        assert row_index.vectors is assignment.frequencies.vectors
        tables = assignment.layout.tables.values()
        names = tuple(dict.fromkeys(output.of for table in tables for output in table.outputs))
        classes = classes_of(source, assignment, row_index, lambda rows: arranged(rows, names, secret, stream=1))
        numbered = any(table.bucket for table in tables)
        shown = secret.number(len(classes), stream=2).tolist() if numbered else range(len(classes))
        for name, table in assignment.layout.tables.items():
            columns = {table.bucket: [n for n, c in enumerate(shown, 1) for _ in classes[c]]} if table.bucket else {}
            columns.update({each.name: [] for each in table.outputs})
            for number, outputs in enumerate(table.slices):
                for c in shown:
                    for cell, _, raw in arranged(classes[c], names, secret, stream=4 + number):
                        for each in outputs:
                            columns[each.name].append(value_of(each, raw, cell, c))
            if table.count:
                counted = Counter(zip(*columns.values(), strict=True))
                columns = dict(zip(columns, zip(*counted, strict=True), strict=True))
                columns[table.count] = list(counted.values())
            types = {o.name: source.schema.field(o.of) if o.values is None else o.values for o in table.outputs}
            kinds = {name: each.type for name, each in types.items()}
            arrays = {key: pa.array(values, kinds.get(key)) for key, values in columns.items()}
            if assignment.layout.in_source_order:
                order = {o.name: source.columns.index(o.of) for o in table.outputs}
                arrays = {key: arrays[key] for key in sorted(arrays, key=order.__getitem__)}
            sink.accept(name, [pa.table(arrays)])


def classes_of(source, assignment, row_index, mix):
    """Return the rows of every class, each with its cell; which of a piece's equal rows go where is chance."""
    waiting = {}
    joints = row_index.joints if assignment.joint is not None else [None] * source.rows
    for cell, joint, row, raw in zip(row_index.cells, joints, source.data, source.raw, strict=True):
        waiting.setdefault((cell, joint), []).append((cell, row, raw))
    if assignment.split:
        waiting = {piece: mix(rows) for piece, rows in waiting.items()}
    classes = [[] for _ in range(len(assignment.classes))]
    joints = [None] * len(assignment.cells) if assignment.joint is None else assignment.joint.tolist()
    pieces = (assignment.cells.tolist(), joints, assignment.class_ids.tolist(), assignment.counts.tolist())
    for cell, joint, class_id, count in zip(*pieces, strict=True):
        rows = [waiting[cell, joint].pop(0) for _ in range(count)]
        if class_id >= 0:
            classes[class_id] += rows
    return classes


def value_of(output, row, cell, class_id):
    if output.values is None:
        return row[output.of]
    return output.values[output.codes[cell if output.by_cell else class_id]].as_py()


def arranged(rows, names, secret, *, stream):
    if secret.seed is None:
        return sorted(rows, key=lambda _: secrets.randbits(64))
    texts = [[(n, None if row[n] is None else spelled(row[n])) for n in names] for _, row, _ in rows]
    words = np.array([sum(secret.word(*pair) for pair in pairs) % 2**64 for pairs in texts], dtype=np.uint64)
    return [rows[index] for index in np.argsort(mix_words(words, stream), kind="stable")]
