"""Numba kernels that compute how strongly a published table links a tuple to a sensitive value.

A *pair* is a value of a slice in a bucket. `tuples` is t × slices (int64): for every slice the number of its value, -1
if no bucket has it. `starts` (int64) has the pairs of each value; by pair, `buckets` is int64 and `counts` float64; by
bucket, `sizes` is float64. `indptr` (int64), `codes` and `amounts` are the sensitive values of each pair. Results are
float64, one number per tuple. `testing/bucket_reference.py` computes the same in fractions over rows;
`tests/laws/test_buckets.py` and `tests/unit/models/test_surviving_links.py` compare them.
"""

import numpy as np

from indistinct.machine.compiled import jit

# Very small products are stored as a number times a power of 1 / SCALE.
SCALE = 2.0**600


@jit
def largest_share(starts, values, counts, scratch, l):
    """Return the largest share of a value in a run, as (count, rows), and (runs, rows) with a share above 1 / l.

    `scratch` has one zero for each value.
    """
    top, whole, broken, lost = np.int64(0), np.int64(1), np.int64(0), np.int64(0)
    # Invariant: `top / whole` is the largest share so far, compared by cross products; `scratch` is zero between runs.
    for run in range(len(starts) - 1):
        rows, largest = np.int64(0), np.int64(0)
        for i in range(starts[run], starts[run + 1]):
            rows += counts[i]
            scratch[values[i]] += counts[i]
            largest = max(largest, scratch[values[i]])
        for i in range(starts[run], starts[run + 1]):
            scratch[values[i]] = 0
        if largest * whole > top * rows:
            top, whole = largest, rows
        if l * largest > rows:
            broken += 1
            lost += rows
    return top, whole, broken, lost


@jit
def find_bucket(buckets, first, last, bucket, total):
    """Return the index of a bucket in an ascending range, or where it would be inserted.

    There are `total` buckets.
    """
    if last - first == total:
        return first + bucket
    while first < last:
        middle = (first + last) >> 1
        if buckets[middle] < bucket:
            first = middle + 1
        else:
            last = middle
    return first


@jit
def link_tuples(
    tuples, met, where, starts, buckets, counts, sizes, home, shared,
    indptr, codes, amounts, mass, strongest, matches, expected,
):  # fmt: skip
    """Write for each tuple the largest p(t, s) of one sensitive attribute, and what permuted buckets say of it.

    `matches` gets the number of matching buckets, `expected` the mean number of rows that equal the tuple.
    `starts[v]:starts[v + 1]` are the pairs of a slice's value `v` (numbered over all slices) with the buckets that
    hold it, ascending, and how often. Pair `i` of the slice `home` owns entries `indptr[i]:indptr[i + 1]`: sensitive
    codes and their amounts. `mass` is scratch of one zero a code. Where the buckets that match are known, those of
    tuple `t` are `where[met[t]:met[t + 1]]`; else `met` is empty. Slices from `shared` on are what two slices have in
    common: shares of the other slices are multiplied, and divided by theirs.
    """
    slices = tuples.shape[1]
    touched = np.empty(len(mass), dtype=np.int64)
    for t in range(len(tuples)):
        # The slice whose value is in the fewest buckets leads; -1 if some slice has its value in no bucket.
        shortest, length = -1, np.int64(0)
        for j in range(slices):
            value = tuples[t, j]
            if value < 0:
                shortest = -1
                break
            own = starts[value + 1] - starts[value]
            if shortest < 0 or own < length:
                shortest, length = j, own
        weight, mean, matching, seen, level = 0.0, 0.0, 0, 0, 0
        if shortest >= 0:
            value = tuples[t, shortest]
            first, last = (met[t], met[t + 1]) if len(met) else (starts[value], starts[value + 1])
            # Invariant: `weight` and `mass` are sums over the previous buckets, times SCALE to the power of `level`.
            for i in range(first, last):
                bucket = where[i] if len(met) else buckets[i]
                share, scaled, pair = 1.0, 0, np.int64(-1)
                for j in range(slices):
                    other = tuples[t, j]
                    position = (
                        i
                        if j == shortest and not len(met)
                        else find_bucket(buckets, starts[other], starts[other + 1], bucket, len(sizes))
                    )
                    if position >= starts[other + 1] or buckets[position] != bucket:
                        share = 0.0
                        break
                    if j < shared:
                        share *= counts[position] / sizes[bucket]
                    else:
                        share *= sizes[bucket] / counts[position]
                    if share * SCALE < 1.0:
                        share *= SCALE
                        scaled += 1
                    if j == home:
                        pair = position
                if share > 0.0:
                    matching += 1
                    if matching > 1 and scaled > level:
                        if scaled > level + 1:
                            continue  # negligible compared with the sum so far
                        share /= SCALE
                        scaled = level
                    if matching > 1 and scaled < level:
                        down = SCALE if scaled == level - 1 else np.inf  # the existing sum is negligible
                        weight /= down
                        for j in range(seen):
                            mass[touched[j]] /= down
                    level = scaled
                    weight += share
                    mean += share * sizes[bucket] if scaled == 0 else 0.0
                    for entry in range(indptr[pair], indptr[pair + 1]):
                        if mass[codes[entry]] == 0.0:
                            touched[seen] = codes[entry]
                            seen += 1
                        mass[codes[entry]] += share * amounts[entry] / counts[pair]
        top = 0.0
        for i in range(seen):
            top = max(top, mass[touched[i]])
            mass[touched[i]] = 0.0
        strongest[t] = top / weight if weight > 0.0 else 0.0
        matches[t] = matching
        expected[t] = mean


@jit
def expected_by_bucket(first, last, starts, known, counts, sizes, factors, lead, rests):
    """Return the expected number of rows of some buckets that equal a tuple if slices are permuted: Σ |B| f(t, B).

    `starts[j, B]:starts[j, B + 1]` are the entries of slice `j` in bucket `B`: what is known, and how often. The tuples
    whose value in slice 0 is `v` are `rests[lead[v]:lead[v + 1]]`, ascending: their other values as one number, each
    times the factor of its slice.
    """
    slices = len(factors)
    at = np.empty(slices, dtype=np.int64)
    total = 0.0
    for bucket in range(first, last):
        empty = False
        for j in range(slices):
            at[j] = starts[j, bucket]
            empty |= at[j] == starts[j, bucket + 1]
        # `at` is one entry of each slice: a tuple that the bucket could contain. The last slice advances fastest.
        while not empty:
            value, word, share = known[at[0]], np.int64(0), counts[at[0]]
            low, high = lead[value], lead[value + 1]
            for j in range(1, slices):
                word += known[at[j]] * factors[j]
                share *= counts[at[j]] / sizes[bucket]
            end = high
            # Binary search for the rest of the tuple among those that begin with `value`.
            while low < high:
                middle = (low + high) >> 1
                if rests[middle] < word:
                    low = middle + 1
                else:
                    high = middle
            if low < end and rests[low] == word:
                total += share
            j = slices - 1
            if lead[value] == end:  # no tuple has the value, whatever its values in other slices
                j = 0
                for later in range(1, slices):
                    at[later] = starts[later, bucket]
            at[j] += 1
            while j > 0 and at[j] == starts[j, bucket + 1]:
                at[j] = starts[j, bucket]
                j -= 1
                at[j] += 1
            empty = at[0] == starts[0, bucket + 1]
    return total
