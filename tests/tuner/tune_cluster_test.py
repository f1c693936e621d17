#!/usr/bin/env python3
"""Tests the tuner on a Dask cluster of two workers, one of which is killed during the run.

    tune_cluster_test.py BUILD-FOLDER

The test needs the tuner's virtual environment (build-tune/venv/bin/python, which ./tune.sh --set-up
makes) and a build with add_f32."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest

try:
    import distributed
except ImportError:
    print("skipped: no Dask; ./tune.sh --set-up installs it")
    sys.exit(77)

import tune_test
from tune_test import CountingEngine, jobs, kernels, small_search


class ClusterTest(unittest.TestCase):
    def test_a_killed_worker_loses_nothing(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, resources={"chip": 1},
                                      dashboard_address=None) as cluster:
            engine = jobs.DaskEngine(cluster.scheduler_address, "chip")
            killed = []

            def kill_the_busy_one():
                busy = [address for address, tasks in engine.client.processing().items() if tasks]
                victim = next(worker for worker in cluster.workers.values()
                              if worker.worker_address in busy)
                os.kill(victim.pid, signal.SIGKILL)
                killed.append(victim.pid)

            measure = engine.measure

            def measure_with_a_death(*arguments):
                # The worker is killed while the first batch is measured.
                if len(arguments[2]) > 1 and not killed:
                    threading.Timer(0.1, kill_the_busy_one).start()
                return measure(*arguments)

            engine.measure = measure_with_a_death
            tuning = small_search(engine, folder / "cluster")
            outcome = tuning.run(time.monotonic() + 3600)
            engine.client.close()
        # The results say on which machine the workers measured.
        told = tuning.results()
        self.assertEqual([m["halide"] for m in told.machines.values()], [tuning.build.halide])
        self.assertEqual(len(killed), 1)
        alone = small_search(CountingEngine(), folder / "alone").run(time.monotonic() + 3600)
        statuses = lambda o: {kernels.knob_text(e["knobs"]): e["status"] for e in o["tried"]}
        self.assertEqual(statuses(outcome), statuses(alone))
        self.assertEqual(len(outcome["finalists"]), len(alone["finalists"]))


if __name__ == "__main__":
    tune_test.BUILD = kernels.Build(sys.argv.pop(1))
    unittest.main()
