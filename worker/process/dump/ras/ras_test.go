package ras

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/dump"
)

// answer has the form of NCCL 2.28's src/ras/client_support.cc, with fewer counts.
const answer = `OK
{
  "nccl_version": "2.28.9",
  "cuda_runtime_version": 13000,
  "cuda_driver_version": 13000,
  "timestamp": "2026-11-24 12:00:00",
  "communicators_count": 1,
  "communicators": [
    {
      "hash": "0xab",
      "secondary_hash": "0x1:0x2",
      "size": 3,
      "ranks_count": 2,
      "missing_ranks_count": 1,
      "ranks": [
        {
          "rank": 0,
          "host": "10.0.0.1",
          "pid": 100,
          "cuda_dev": 0,
          "nvml_dev": 0,
          "status": {
            "init_state": 0,
            "async_error": 0,
            "finalize_called": false,
            "destroy_flag": false,
            "abort_flag": false
          },
          "collective_counts": {
            "Broadcast": 0,
            "AllReduce": 812
          }
        },
        {
          "rank": 2,
          "host": "10.0.0.1",
          "pid": 102,
          "cuda_dev": 2,
          "nvml_dev": 2,
          "status": {
            "init_state": 0,
            "async_error": 6,
            "finalize_called": false,
            "destroy_flag": false,
            "abort_flag": true
          },
          "collective_counts": {
            "Broadcast": 0,
            "AllReduce": 811
          }
        }
      ],
      "missing_ranks": [
        {
          "rank": 1,
          "host": "unknown",
          "pid": -1,
          "cuda_dev": 1,
          "nvml_dev": 1,
          "status": {
            "unresponsive": true,
            "considered_dead": true
          }
        }
      ]
    }
  ],
  "ras": {
    "collection_time_sec": 0.003,
    "timeouts_count": 0
  }
}
`

func TestRead(t *testing.T) {
	want := []dump.Communicator{{ID: "0xab:0x1:0x2", Size: 3, Ranks: []dump.CommunicatorRank{
		{Rank: 0, PID: 100, Counts: map[string]uint64{"AllReduce": 812}},
		{Rank: 1, PID: -1, Missing: true, Dead: true, Unresponsive: true},
		{Rank: 2, PID: 102, Counts: map[string]uint64{"AllReduce": 811}, Error: 6, Aborted: true},
	}}}
	got, err := Read(strings.NewReader(answer))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
	}
}

// NCCL 2.28.9 leaves out a comma in the status of a rank that does not answer.
func TestReadWithoutComma(t *testing.T) {
	without := strings.Replace(answer, "\"nvml_dev\": 1,\n", "\"nvml_dev\": 1\n", 1)
	got, err := Read(strings.NewReader(without))
	if without == answer || err != nil || len(got) != 1 || !got[0].Ranks[1].Dead {
		t.Errorf("%+v, error %v; want rank 1 dead", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"NCCL 2.27": "ERROR: Unknown command: set format json\nNCCL version 2.27.3 compiled with CUDA 12.9\n",
		"no status": "OK\n{}", "half": answer[:len(answer)/2], "nothing": "", "long": strings.Repeat(" ", mostBytes+1),
	} {
		if c, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %v, want an error", name, c)
		}
	}
}

// A mistake in the status is shown with what stands around it.
func TestReadShowsMistakes(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Replace(answer, `"host": "10.0.0.1",`, `"host": "10.0.0.1"`, 1)))
	if err == nil || !strings.Contains(err.Error(), `"host\": \"10.0.0.1\"\n          \"pid`) {
		t.Errorf("error %v, want one that shows the host and what follows", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(answer)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Read(strings.NewReader(text)) })
}
