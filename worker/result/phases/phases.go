// Package phases tells where the time of a run goes: what each process did from
// when to when, from the start of the launcher to its end.
//
// A [Recorder] belongs to a process. [Of] puts together what all processes of a
// machine recorded. All of them read CLOCK_BOOTTIME, which they share, and from
// which the kernel counts when a process was started.
package phases

import (
	"fmt"
	"slices"
)

// Phase is what a process does for a while. Phases follow one another in the order
// of their numbers; not every process has all of them.
type Phase int

// The phases of a run: first the launcher's, then every worker's, and last the
// launcher's again.
const (
	Guard   Phase = iota // starts, until it starts the agent
	Agent                // starts
	Plan                 // flags and settings are read
	Find                 // devices are looked for
	Prepare              // the job is made, and the rendezvous
	Fork                 // the workers are started

	Start     // of a worker, from the fork
	Init      // of the driver
	Open      // of the device: its context
	Join      // the rendezvous, as far as it took longer than Init and Open
	Compare   // devices, and who reaches whom
	Libraries // of others are opened
	Settle    // on how memory is shared
	Allocate  // the own memory
	Exchange  // handles of it
	Map       // the peers' memory
	Enter     // libraries of others connect to their peers
	Ready     // the communicator is made, and the ranks meet
	Links     // are measured
	Load      // the kernels of the first case
	Verify    // the first call
	Measure   // the first case is timed, verified again and reported
	Cases     // all others
	Leave     // memory is freed in step with the peers
	Close     // of the device
	Exit      // of the process, as the launcher sees it

	End // of the launcher's work
)

// names are the phases in the words of a table.
func names() []string {
	return []string{
		"guard starts", "agent starts", "read settings", "find devices", "prepare the job", "start workers",
		"worker starts", "initialize driver", "open device", "join", "compare devices", "open libraries",
		"settle on memory", "allocate memory", "exchange handles", "map peers", "enter libraries", "get ready",
		"measure links", "load kernels", "verify first call", "first result", "further cases", "free memory",
		"close device", "worker exits", "end",
	}
}

// String is the name of the phase, such as "open device".
func (p Phase) String() string {
	if all := names(); 0 <= p && int(p) < len(all) {
		return all[p]
	}
	return fmt.Sprintf("phase %d", int(p))
}

// MarshalText is String.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Phase) UnmarshalText(text []byte) error {
	i := slices.Index(names(), string(text))
	if i < 0 {
		return fmt.Errorf("there is no phase %q", text)
	}
	*p = Phase(i)
	return nil
}
