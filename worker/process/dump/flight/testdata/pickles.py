"""Writes a dump of PyTorch's flight recorder as Python's pickle does it in each protocol, and as JSON.

With the argument "torch", PyTorch's own pickler writes it, where PyTorch has a flight recorder and NCCL.
"""
import json
import pickle
import sys

FRAMES = [
    {"name": "all_reduce", "filename": "/opt/torch/distributed/distributed_c10d.py", "line": 2696},
    {"name": "main", "filename": "/job/train.py", "line": 214},
]


def entry(sequence, state):
    return {
        "frames": FRAMES, "record_id": sequence, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": sequence, "p2p_seq_id": 0, "op_id": sequence, "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_700_000_000_000_000_000 + sequence, "duration_ms": 0.5, "input_sizes": [[3, 4]],
        "input_dtypes": ["Float"], "output_sizes": [[3, 4]], "output_dtypes": ["Float"], "state": state,
        "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": state == "completed",
        "timeout_ms": 600000, "is_p2p": False,
    }


p2p = entry(1, "scheduled") | {
    "process_group": ("3", "pipeline"), "profiling_name": "nccl:send 0->1", "is_p2p": True, "p2p_seq_id": 70_000,
}
dump = {
    "version": "2.10", "comm_lib_version": "2.28.9",
    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
    "pg_status": {"0": {"last_enqueued_collective": 2, "last_started_collective": -1, "last_completed_collective": 1}},
    "entries": [entry(1, "completed"), entry(2, "started"), p2p],
}
if sys.argv[1:] == ["json"]:
    print(json.dumps(dump))
else:
    sys.stdout.buffer.write(pickle.dumps(dump, int(sys.argv[1])))
