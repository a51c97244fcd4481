"""Dask workers as Slurm jobs: run it in the course folder, on a node that may submit jobs.

    python slurm.py [ASSIGNMENT]

Needs `pip install "FILE[scale]" dask-jobqueue`. The scheduler runs in this process, and `autograder grade` beside it.
"""

import subprocess
import sys

from dask_jobqueue import SLURMCluster

# One job is one worker. Change what your cluster asks for: queue, account, time.
cluster = SLURMCluster(cores=1, processes=1, memory="6GB", walltime="01:00:00", job_extra_directives=[])
with cluster:
    cluster.adapt(minimum_jobs=1, maximum_jobs=2)
    command = ["autograder", "grade", ".", *sys.argv[1:], "--scheduler", cluster.scheduler_address]
    sys.exit(subprocess.run(command).returncode)
