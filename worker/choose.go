package worker

import (
	"fmt"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
)

// surroundings are what the devices of all ranks allow.
type surroundings struct {
	devices []cudart.Info // by rank
	// apart says which GPUs cannot reach each other; empty is none.
	apart string
	// noMulticast says why there are no multicast addresses; empty is that
	// there are.
	noMulticast string
	wantPDL     bool // of every kernel, or else not at all
}

// chooseAlgorithms turns the requests into cases that can run here. All ranks
// know the same, and choose alike.
func (r *rank) chooseAlgorithms() error {
	if err := r.phase("choosing algorithms"); err != nil {
		return err
	}
	r.sweep.cases = nil
	for _, q := range r.sweep.requests {
		a, why, err := r.sweep.choose(&q, r.around, r.Job.Tuning, r.Job.offset(q.call.DType))
		if err != nil {
			return err
		}
		r.sweep.cases = append(r.sweep.cases, newCases(a, r.sweep.collective.Shape, r.WorldSize, q.call, why)...)
	}
	return nil
}

// choose finds the algorithm of a request and says why it is that one. It sets
// the blocks that go with it, unless the request has its own.
func (s *sweep) choose(q *request, around surroundings, tables tuning.Tables, offset int64) (*collective.Algorithm, string, error) {
	if q.algorithm != auto {
		a, _ := s.collective.Algorithm(q.algorithm) // the plan has checked it
		return a, "asked for", around.refuse(s.collective, a, q.call)
	}
	world := len(around.devices)
	placed := q.call
	placed.Send, placed.Recv = offset, offset
	refusal := func(name string) error {
		a, ok := s.collective.Algorithm(name)
		if !ok {
			return fmt.Errorf("%s has no algorithm %q", s.collective.Name, name)
		}
		if err := a.Check(placed, world); err != nil {
			return err
		}
		return around.refuse(s.collective, a, q.call)
	}
	choice, err := s.best(q.call, around, tables, refusal)
	if err != nil {
		return nil, "", err
	}
	if q.call.Blocks == 0 {
		q.call.Blocks = choice.Blocks
	}
	a, _ := s.collective.Algorithm(choice.Algorithm)
	return a, choice.Reason, nil
}

// best is what "auto" stands for: what was measured to be the fastest, or else
// the collective's estimate, or else the first that can do the call, naive above
// all. Where GPUs cannot reach each other nothing was measured.
func (s *sweep) best(call collective.Call, around surroundings, tables tuning.Tables, refusal func(name string) error) (tuning.Choice, error) {
	world := len(around.devices)
	reason := around.apart
	var complaint error
	if around.apart == "" {
		query := tuning.Query{
			GPU: around.devices[0].Name, SM: around.leastSM(), Collective: s.collective.Name, World: world,
			Bytes: testCase{shape: s.collective.Shape, world: world, call: call}.bytes(),
			Able:  func(name string) bool { return refusal(name) == nil },
		}
		if choice, ok := tables.Choose(query); ok {
			return choice, nil
		}
		estimate := s.collective.Choose(world, call)
		if complaint = refusal(estimate); complaint == nil {
			return tuning.Choice{Algorithm: estimate, Reason: "an estimate; nothing measured is at hand"}, nil
		}
		reason = complaint.Error()
	}
	for _, a := range s.collective.Algorithms {
		err := refusal(a.Name)
		if err == nil {
			return tuning.Choice{Algorithm: a.Name, Reason: "the first that can do it: " + reason}, nil
		}
		if complaint == nil {
			complaint = err
		}
	}
	return tuning.Choice{}, complaint
}

// refuse says why an algorithm cannot do a call here, or returns nil.
func (s surroundings) refuse(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	for rank, d := range s.devices {
		k, ok := a.Find(call.DType, call.Op, call.Epilogue.Kind, len(s.devices), sm(d))
		switch {
		case !ok:
			least := a.MinSM(call.DType, call.Op, call.Epilogue.Kind)
			return fmt.Errorf("device of rank %d: %w", rank, &UnsupportedDevice{d, fmt.Sprintf(
				"%s of %s needs %d.%d", name, call.DType.Name, least/10, least%10)})
		case s.wantPDL && (!k.Module.Arch.PDL() || sm(d) < 90):
			return &Unavailable{fmt.Sprintf("%s has no kernel for programmatic dependent launch on %s: leave --pdl at auto", name, d.Name)}
		}
	}
	switch {
	case a.Needs.Peers && s.apart != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; %s can", name, s.apart, withoutPeers(c))}
	case a.Needs.Multicast && s.noMulticast != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, s.noMulticast)}
	}
	return nil
}

// withoutPeers names the algorithms that run where GPUs cannot reach each other.
func withoutPeers(c *collective.Collective) string {
	var names []string
	for _, a := range c.Algorithms {
		if !a.Needs.Peers {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, " or ")
}

// leastSM is the least compute capability of all devices, 10*major+minor.
func (s surroundings) leastSM() int {
	least := sm(s.devices[0])
	for _, d := range s.devices {
		least = min(least, sm(d))
	}
	return least
}

// leastSMs is the least number of multiprocessors of all devices.
func (s surroundings) leastSMs() int {
	least := s.devices[0].SMs
	for _, d := range s.devices {
		least = min(least, d.SMs)
	}
	return least
}

func sm(d cudart.Info) int { return 10*d.Major + d.Minor }

// UnsupportedDevice is a device that cannot run the job's kernels.
type UnsupportedDevice struct {
	Device cudart.Info
	Needs  string
}

func (e *UnsupportedDevice) Error() string {
	return fmt.Sprintf("%s has compute capability %d.%d, and %s", e.Device.Name, e.Device.Major, e.Device.Minor, e.Needs)
}

// Unavailable is an algorithm that the machine lacks something for.
type Unavailable struct{ Reason string }

func (e *Unavailable) Error() string { return e.Reason }
