package exec

import (
	"fmt"

	"gpurun/cudart/sim/ptx"
)

// The newest PTX that is known.
const isaMajor, isaMinor = 9, 2

// CheckVersion says why a module is too new, or nothing.
func CheckVersion(m *ptx.Module) string {
	if m.Major > isaMajor || m.Major == isaMajor && m.Minor > isaMinor {
		return fmt.Sprintf("%s is PTX %d.%d, and the simulator knows PTX up to %d.%d", m.Name, m.Major, m.Minor, isaMajor,
			isaMinor)
	}
	return ""
}

// CheckTarget says why a module is for an architecture that is not known, or nothing. A plain target runs on
// all newer devices; a specific one, such as sm_90a, runs on one alone.
func CheckTarget(m *ptx.Module) string {
	switch {
	case m.Feature != "" && m.Target != "sm_90a" && m.Target != "sm_100a" && m.Target != "sm_100f":
		return fmt.Sprintf("%s is for %s; of the specific targets the simulator takes sm_90a, sm_100a and sm_100f", m.Name, m.Target)
	case m.SM > 100:
		return fmt.Sprintf("%s is for %s, and the simulator is a device of compute capability 10.0", m.Name, m.Target)
	}
	return ""
}
