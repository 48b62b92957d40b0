package workload

import "testing"

// A run has memory of one kind.
func TestAlgorithmsThatNeedDifferentMemory(t *testing.T) {
	for _, tt := range []struct {
		algorithms []string
		symm       string
		want       string
	}{
		{[]string{"nccl", "nccl_symmetric", Auto}, "", ""},
		{[]string{"nccl_symmetric"}, "vmm", ""},
		{[]string{"nccl", "nvshmem"}, "", ""},
		{
			[]string{"nccl_symmetric", "nvshmem"},
			"",
			"nccl_symmetric works on memory shared by vmm alone, and nvshmem on memory shared by nvshmem alone: " +
				"measure them in two runs",
		},
		{
			[]string{"nccl_symmetric"},
			"ipc",
			"allreduce nccl_symmetric works on memory shared by vmm alone: leave --symm at auto",
		},
		{
			[]string{"nvshmem"},
			"vmm",
			"allreduce nvshmem works on memory shared by nvshmem alone: leave --symm at auto",
		},
	} {
		job := spanning("allreduce", tt.algorithms...)
		job.Nodes, job.Symm = 0, tt.symm
		got := ""
		if err := job.Check(2); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v on %s\ngot  %s\nwant %s", tt.algorithms, tt.symm, got, tt.want)
		}
	}
}
