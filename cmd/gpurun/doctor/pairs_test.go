package doctor

import (
	"testing"

	"gpurun/worker/result"
)

func TestPairsThatCouldNotBeChecked(t *testing.T) {
	for want, test := range map[string]struct {
		report result.Report
		status Status
	}{
		"pairs: the check of the links between GPUs failed: rank 1 was killed": {result.Report{Failure: "rank 1 was killed"}, Fail},
		"pairs: the links between GPUs cannot be checked: apart":               {result.Report{Apart: "apart"}, Warn},
		// What did not fail must have found something.
		"pairs: the check of the links between 4 GPUs came to its end with 11 links of 12": {result.Report{Devices: pairs().Devices, Pairs: pairs().Pairs[1:]}, Fail},
		"pairs: the check of the links between 4 GPUs came to its end with 0 links of 12":  {result.Report{Devices: pairs().Devices}, Fail},
		"pairs: the check of the links between 0 GPUs came to its end with 0 links of 0":   {result.Report{}, Fail},
	} {
		d := Examine(healthy().sources())
		d.AddPairs(test.report, 64)
		checkOnly(t, d, want, test.status)
	}
	d := Examine(healthy().sources())
	d.AddPairs(result.Report{Devices: pairs().Devices[:1]}, 64)
	if d.Worst() != OK {
		t.Error("a GPU without peers is an ailment")
	}
}
