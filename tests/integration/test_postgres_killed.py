"""A kill at any moment of a release to a database leaves the old table or the new one, whole, with its certificate.

`INDISTINCT_KILLS` says at how many moments.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import indistinct as ind
from references.clinic import SCHEMA, with_visits

KILLS = int(os.environ.get("INDISTINCT_KILLS", "3"))
CHILD = Path(__file__).parent.parent / "references" / "killed_release.py"


def start(server, k):
    address = server.address(application_name="killed")
    child = subprocess.Popen([sys.executable, CHILD, address, str(k)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    return child


def settled(server):
    """Wait until the server has seen that the sessions of a process are gone."""
    sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'killed'"
    for _ in range(400):
        if server.run(sql) == [(0,)]:
            return
        time.sleep(0.05)
    raise AssertionError("a session of a killed process lives on")


def test_a_kill_leaves_the_old_table_or_the_new_one(postgres):
    with_visits(postgres, "killed", rows=3000)
    place, moments = ind.DatabaseTable(postgres.url, "killed.release"), random.Random(0)  # noqa: S311
    first = start(postgres, 5)
    began = time.perf_counter()
    assert first.communicate()[0] == "done\n"
    seconds, ks = time.perf_counter() - began, {5}
    for number in range(KILLS):
        k = 6 + number
        child = start(postgres, k)
        time.sleep(moments.uniform(0, 1.1) * seconds)
        child.kill()
        child.communicate()
        ks.add(k)
        settled(postgres)
        ((comment, rows),) = postgres.run(
            "SELECT obj_description('killed.release'::regclass, 'pg_class') AS c, count(*) AS n FROM killed.release"
        )
        told = json.loads(comment)
        promised = int(told["verdicts"][0]["model"].rpartition("=")[2])
        assert promised in ks
        assert told["rows"] == rows == 3000
        assert ind.verify(place, SCHEMA, f"k-anonymity:k={promised}").holds
        names = postgres.run("SELECT tablename::text AS t FROM pg_tables WHERE schemaname = 'killed' ORDER BY 1")
        assert names == [("release",), ("visits",)]
