package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gpurun/worker/result"
)

// thresholdCode is the exit code of a run whose results are right and miss a threshold.
// Its measurements can be compared.
const thresholdCode = 99

// warnings are the differences between two runs that make a comparison less reliable.
func warnings(before, after result.Report) []string {
	all := []string{}
	differs := func(what, old, fresh string) {
		if old != fresh {
			all = append(all, fmt.Sprintf("the %s differ: %s, then %s", what, cmp.Or(old, "unknown"), cmp.Or(fresh, "unknown")))
		}
	}
	differs("devices", result.Machines(before.Devices), result.Machines(after.Devices))
	differs("drivers", drivers(before), drivers(after))
	all = append(all, memoryDiffers(before.Memory, after.Memory)...)
	all = append(all, librariesDiffer(before, after)...)
	for _, side := range []struct {
		which  string
		report result.Report
	}{{"old", before}, {"new", after}} {
		if !side.report.Passed && side.report.ExitCode != thresholdCode {
			all = append(all, fmt.Sprintf("the %s run failed with exit code %d: its measurements may be unreliable", side.which,
				side.report.ExitCode))
		}
	}
	return all
}

// memoryDiffers warns where the ranks of the runs shared different kinds of memory, if
// both reports name them.
func memoryDiffers(before, after *result.Memory) []string {
	if before == nil || after == nil || before.Backend == after.Backend {
		return nil
	}
	return []string{fmt.Sprintf("the kinds of memory differ: %s, then %s", before.Backend, after.Backend)}
}

// librariesDiffer warns where an algorithm used different versions of its library.
func librariesDiffer(before, after result.Report) (all []string) {
	old, fresh := libraries(before), libraries(after)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if other, both := fresh[name]; both && other != old[name] {
			all = append(all, fmt.Sprintf("the libraries of %s differ: %s, then %s", name, old[name], other))
		}
	}
	return all
}

// libraries are those of a run, with their versions, by algorithm.
func libraries(r result.Report) map[string]string {
	all := map[string]string{}
	for _, x := range r.Results {
		if x.Library != "" {
			all[x.Algorithm] = x.Library
		}
	}
	return all
}

// drivers are the versions of a run's devices.
func drivers(r result.Report) string {
	var versions []string
	for _, d := range r.Devices {
		if d.Driver != "" && !slices.Contains(versions, d.Driver) {
			versions = append(versions, d.Driver)
		}
	}
	slices.Sort(versions)
	return fmt.Sprint(versions)
}
