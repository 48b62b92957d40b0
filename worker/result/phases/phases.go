// Package phases divides the time of a run into phases: it records which phase each
// process was in, from the start of the launcher to its end.
//
// A [Recorder] belongs to a process. [NewTiming] combines the records of all processes of
// a machine. All of them read CLOCK_BOOTTIME, by which the kernel also counts when a
// process was started.
//
// Recording costs the timed calls nothing: a phase begins before a batch of calls or after
// it, and never within.
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
	Guard   Phase = iota // from the guard's start until it starts the agent
	Agent                // from the agent's start until it reads settings
	Plan                 // reading flags and settings
	Find                 // finding the devices
	Prepare              // making the job, and opening the rendezvous
	Fork                 // starting the workers

	Start     // of the worker, from the fork on
	Init      // initializing the driver
	Open      // opening the device and its context
	Join      // joining the rendezvous, as far as that takes longer than Init and Open
	Compare   // comparing devices, and which has access to which
	Libraries // opening NCCL, NVSHMEM and cuBLAS
	Settle    // agreeing on how memory is shared
	Allocate  // allocating the rank's own memory
	Exchange  // exchanging memory handles
	Map       // mapping the peers' memory
	Enter     // connecting NCCL and NVSHMEM to their peers
	Ready     // making the communicator, and a barrier
	Links     // measuring the links
	Load      // loading the kernels of the first case
	Verify    // verifying the first call
	Measure   // timing the first case, verifying it again, and reporting it
	Cases     // all other cases
	Leave     // freeing memory in step with the peers
	Close     // closing the device
	Exit      // of the worker, as the launcher sees it

	End // of the launcher's work
)

// names are the phases' names in the table and in JSON.
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
