"""What one process takes: CPU time, memory, output.

``python running.py LIMIT COMMAND…`` prints it as JSON; the command is ended after so many seconds
of CPU. A process counts the memory of the one that starts it as its own until it is another
program, so a small one has to start what is measured.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading


def _measured(command: list[str], limit: float) -> dict[str, float]:
    most = math.ceil(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        timer = threading.Timer(4 * limit, process.kill)  # it may wait, or the machine be busy
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        return {
            "seconds": used.ru_utime + used.ru_stime,
            "mib": used.ru_maxrss / 1024,
            "written": output.seek(0, os.SEEK_END) / 2**20,
            "status": os.waitstatus_to_exitcode(status),
        }


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[2:], float(sys.argv[1]))))
