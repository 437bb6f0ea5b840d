"""A process of a comparison that dies."""

import indistinct as ind
from indistinct.exploration.compare import workers
from indistinct.exploration.compare.trials import ComparedJob, Point, metrics_of
from indistinct.job.job import Job
from indistinct.samples import generate_patients
from indistinct.tables import open_table

SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"])


def test_a_process_that_dies_takes_its_point_along_and_no_other():
    patients = generate_patients(300, seed=1).select(["age", "sex", "zipcode", "disease"])
    job = ComparedJob(Job(open_table(patients), SCHEMA), metrics_of(None))
    worker = workers.TrialWorker(workers._pickle_job(job), threads=1)
    try:
        worker._running().kill()
        assert "signal 9" in str(worker.ask(Point("mondrian", "k-anonymity:k=5")).reason)
        assert worker.ask(Point("mondrian", "k-anonymity:k=5")).state == "done"
    finally:
        worker.close()
