// Package doctor examines this machine: the driver, the GPUs and their links, the limits of a
// container, and the libraries. [Run] reads the machine and has every pair of GPUs checked;
// [Examine] judges what it is given, so that tests can give it any machine. Every finding says
// whether a thing is well, and if not, what to do.
package doctor

import (
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/nvml"
	"gpurun/worker/result"
)

// Schema is the version of a diagnosis as JSON. It changes when a field changes
// its meaning or goes away, not when one is added.
const Schema = 1

// Status says how bad a finding is.
type Status = result.Status

// The statuses, from the best to the worst.
const (
	OK   = result.StatusOK
	Warn = result.StatusWarn // something works less well than it could, or may fail
	Fail = result.StatusFail // something does not work
)

// worse returns the worse of two statuses. None is better than any.
func worse(a, b Status) Status {
	order := []Status{"", OK, Warn, Fail}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// Finding is the outcome of one check.
type Finding struct {
	Check   string   `json:"check"` // what was looked at, such as "ecc"
	Status  Status   `json:"status"`
	Summary string   `json:"summary"`           // a sentence
	Advice  string   `json:"advice,omitempty"`  // what to do
	Details []string `json:"details,omitempty"` // a line each
}

// Device is one of the machine's GPUs, whether it is visible to CUDA or not.
type Device struct {
	Index       int         `json:"index"` // in PCI bus order
	Name        string      `json:"name"`
	UUID        string      `json:"uuid"`
	PCIBusID    string      `json:"pci_bus_id"`
	Compute     string      `json:"compute_capability"`
	TotalMemory int64       `json:"total_memory"` // bytes
	Health      nvml.Health `json:"health"`
}

// Diagnosis is everything that was found.
type Diagnosis struct {
	Schema   int       `json:"schema"`
	Findings []Finding `json:"findings"`
	Devices  []Device  `json:"devices"`
	// Topology has nvidia-smi's word for how each device reaches each other one;
	// the own word is "X".
	Topology [][]string `json:"topology,omitempty"`
	// Ranks are the devices of the check of pairs, by rank, and Pairs its results.
	Ranks []cudart.Info `json:"ranks,omitempty"`
	Pairs []result.Pair `json:"pairs,omitempty"`
	// PairBytes is what was written, and copied, over each link.
	PairBytes int64 `json:"pair_bytes,omitempty"`
}

// Worst is the worst status of all findings.
func (d Diagnosis) Worst() Status {
	status := OK
	for _, f := range d.Findings {
		status = worse(status, f.Status)
	}
	return status
}

// WrongData reports whether any pair got other data than were sent.
func (d Diagnosis) WrongData() bool { return slices.ContainsFunc(d.Pairs, result.Pair.Wrong) }

// The checks of which a failure is that of a GPU, and not of what is installed or set on the machine.
const (
	healthCheck = "gpu health"
	eccCheck    = "ecc"
	rowsCheck   = "remapped rows"
)

// GPUFailed reports whether a GPU has failed: it is lost, or its memory has errors that it could not correct.
func (d Diagnosis) GPUFailed() bool {
	return slices.ContainsFunc(d.Findings, func(f Finding) bool {
		return f.Status == Fail && slices.Contains([]string{healthCheck, eccCheck, rowsCheck}, f.Check)
	})
}

// add appends a finding, unless it is about nothing.
func (d *Diagnosis) add(findings ...Finding) {
	for _, f := range findings {
		if f.Check != "" {
			d.Findings = append(d.Findings, f)
		}
	}
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, Status: OK, Summary: fmt.Sprintf(format, args...)}
}

func warn(check, advice, format string, args ...any) Finding {
	return Finding{Check: check, Status: Warn, Summary: fmt.Sprintf(format, args...), Advice: advice}
}

func fail(check, advice, format string, args ...any) Finding {
	return Finding{Check: check, Status: Fail, Summary: fmt.Sprintf(format, args...), Advice: advice}
}
