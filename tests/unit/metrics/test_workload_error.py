"""The metric workload-error: what it says of a recoding, how it is spelled, and a search that lowers it."""

from itertools import product

import pytest

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.metrics import parse_metric
from indistinct.samples import generate_patients
from indistinct.text_form import spell

TABLE = generate_patients(400, seed=3).select(["age", "sex", "zipcode", "disease"])
SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])
HIERARCHIES = {"age": ind.Hierarchy.intervals([10, 20]), "zipcode": ind.Hierarchy.masking(levels=2)}
WORKLOAD = ind.Workload.generate(TABLE, SCHEMA, queries=40, attributes=2, selectivity=0.1, seed=2)


def released(algorithm, **given):
    return ind.anonymize(
        TABLE, SCHEMA, model=ind.KAnonymity(4), algorithm=algorithm, hierarchies=HIERARCHIES, seed=1, **given
    )


def error(release):
    return ind.measure(release, [ind.WorkloadError(WORKLOAD)])["workload-error"]


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:extent=region", "optimal", "kaca", "datafly"])
def test_the_metric_is_what_readers_find(algorithm):
    """Of nodes in which some values do not occur the reader takes more for possible than the rows have."""
    release = released(algorithm, suppression=0.02 if algorithm in ("optimal", "datafly") else 0.0)
    assert error(release) == pytest.approx(ind.workload_error(release, TABLE, WORKLOAD).relative, rel=0.15)


def test_full_domain_nodes_are_measured_as_readers_do():
    release = released("optimal", suppression=0.02)
    assert error(release) == pytest.approx(ind.workload_error(release, TABLE, WORKLOAD).relative)


def test_the_best_node_is_the_best_of_all_nodes():
    best = released(ind.Optimal(metric=ind.WorkloadError(WORKLOAD)), suppression=0.05)
    every = []
    for node in product(range(4), range(2), range(4)):
        try:
            every.append(error(released(ind.ChosenNode(node), suppression=0.05)))
        except ind.InfeasibleError:
            continue
    assert len(every) > 2
    assert error(best) == pytest.approx(min(every))
    assert WORKLOAD.digest[:12] in best.certificate.algorithm


def test_it_is_spelled_by_its_file_and_named_by_its_digest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WORKLOAD.write("queries.sql")
    metric = parse_metric("workload-error:queries.sql")
    assert metric == ind.WorkloadError(WORKLOAD)
    assert parse_metric(spell(metric)) == metric
    search = parse_algorithm('optimal:metric="workload-error:queries.sql"')
    assert WORKLOAD.digest[:12] in spell(search)
    assert parse_algorithm(spell(search)) == search
    ind.Workload.of(["SELECT COUNT(*)"]).write("queries.sql", overwrite=True)
    with pytest.raises(ind.InputError, match="changed"):
        parse_metric(spell(metric))


def test_what_it_cannot_measure_is_refused():
    with pytest.raises(ind.ParameterError, match="query 2"):
        ind.WorkloadError(ind.Workload.of(["SELECT COUNT(*)", "SELECT AVG(age)"]))
    release = released("mondrian")
    with pytest.raises(ind.SchemaError, match="quasi-identifier"):
        ind.measure(release, [ind.WorkloadError(ind.Workload.of(["SELECT COUNT(*) WHERE disease = 'flu'"]))])
    with pytest.raises(ind.ParameterError, match="workload-error cannot be measured"):
        ind.measure_table(
            release.table, SCHEMA, original=TABLE, hierarchies=HIERARCHIES, metrics=[ind.WorkloadError(WORKLOAD)]
        )
