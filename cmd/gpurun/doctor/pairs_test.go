package doctor

import (
	"slices"
	"strings"
	"testing"

	"gpurun/worker/result"
)

func TestPairsThatCouldNotBeChecked(t *testing.T) {
	for want, test := range map[string]struct {
		report result.Report
		status Status
	}{
		"pairs: the check of the links between GPUs failed: rank 1 was killed": {
			result.Report{Failure: "rank 1 was killed"}, Fail,
		},
		"pairs: the links between GPUs cannot be checked: apart": {result.Report{NoPeerAccess: "apart"}, Warn},
		// What did not fail must have found something.
		"pairs: the check of the links between 4 GPUs ended after 11 of 12 links": {
			result.Report{Devices: pairs().Devices, Pairs: pairs().Pairs[1:]}, Fail,
		},
		"pairs: the check of the links between 4 GPUs ended after 0 of 12 links": {
			result.Report{Devices: pairs().Devices}, Fail,
		},
		"pairs: the check of the links between 0 GPUs ended after 0 of 0 links": {result.Report{}, Fail},
	} {
		d := Examine(healthy().sources())
		d.AddPairs(test.report, 64, false)
		checkOnly(t, d, want, test.status)
	}
	d := Examine(healthy().sources())
	d.AddPairs(result.Report{Devices: pairs().Devices[:1]}, 64, false)
	if d.Worst() != OK {
		t.Error("a GPU without peers is an ailment")
	}
}

// Who keeps the GPUs apart is not told to change the machine.
func TestAdviceOnPairsThatAreApart(t *testing.T) {
	for asApart, want := range map[bool]string{false: "turn off ACS", true: "set --p2p and --symm to auto"} {
		var d Diagnosis
		d.AddPairs(result.Report{NoPeerAccess: "apart"}, 64, asApart)
		if advice := d.Findings[0].Advice; !strings.Contains(advice, want) {
			t.Errorf("%v: %s", asApart, advice)
		}
	}
}

func TestAdviceOnDeviceFiles(t *testing.T) {
	for file, want := range map[string]string{
		"dev/nvidiactl": "modprobe nvidia, ", "dev/nvidia-uvm": "modprobe nvidia_uvm, ",
	} {
		m := healthy()
		delete(m.files, file)
		d := Examine(m.sources())
		if !slices.ContainsFunc(d.Findings,
			func(f Finding) bool { return f.Status == Fail && strings.HasPrefix(f.Advice, want) }) {
			t.Errorf("%s: %+v", file, d.Findings)
		}
	}
}

// A link that was not measured has no bandwidth of 0.
func TestMissingPairsAreShown(t *testing.T) {
	r := pairs()
	r.Pairs = r.Pairs[1:]
	var d Diagnosis
	d.AddPairs(r, 64, false)
	var out strings.Builder
	if err := d.Write(&out); err != nil || !strings.Contains(out.String(), " ?") ||
		strings.Contains(out.String(), " 0.0") {
		t.Errorf("%v: %s", err, out.String())
	}
}
