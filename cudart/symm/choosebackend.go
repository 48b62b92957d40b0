package symm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
)

// facts are what a rank tells its peers before they allocate.
type facts struct {
	// Granularity is what sizes must be a multiple of on the rank's device.
	Granularity int64 `json:"granularity,omitempty"`
	// UniqueID is NVSHMEM's, from rank 0.
	UniqueID []byte `json:"unique_id,omitempty"`
}

// prober is a backend that does not work on every device. probe says why not, or collects this
// rank's facts; learn gets the facts of all ranks, indexed by rank.
type prober interface {
	probe() (facts, error)
	learn(all []facts) error
}

// librarySession is a backend whose library all ranks initialize and finalize together. Both wait
// for the other ranks: what can fail on one rank alone must fail in probe.
type librarySession interface {
	initLibrary() error
	finalizeLibrary() error
}

// chooseBackend makes all ranks use the same backend: the first that the options allow and that works
// on every rank's device.
func (m *Memory) chooseBackend(ctx context.Context, dev cudart.Device) error {
	ways, failure := m.candidates(dev)
	var refusals []string
	for {
		mine := m.report(failure)
		if failure == nil {
			m.backend = ways[0]
			mine.Facts, mine.Cannot = probe(m.backend)
		}
		reports, err := m.gather(ctx, stepBackend, mine)
		if err != nil {
			return err
		}
		if err := m.verdict(reports, failure); err != nil {
			return err
		}
		refusal := firstRefusal(reports)
		if refusal == "" {
			return m.useBackend(reports, refusals)
		}
		refusals = append(refusals, refusal)
		if ways = ways[1:]; len(ways) == 0 {
			return m.refused(refusals)
		}
	}
}

// candidates are the backends to try in turn. Every rank must come to the same
// ones, which the first report checks.
func (m *Memory) candidates(dev cudart.Device) ([]backend, error) {
	if m.Bytes <= 0 {
		return nil, fmt.Errorf("symmetric memory of %d bytes: the size must be positive", m.Bytes)
	}
	ways, err := m.findBackends(dev)
	var names []string
	for _, b := range ways {
		names = append(names, string(b.kind()))
	}
	m.Backend = strings.Join(slices.Compact(names), " or ")
	return ways, err
}

// probe returns the facts, or how the rank cannot do with a backend.
func probe(b backend) (facts, string) {
	p, ok := b.(prober)
	if !ok {
		return facts{}, ""
	}
	f, err := p.probe()
	if err != nil {
		return facts{}, clip(err)
	}
	return f, ""
}

func firstRefusal(reports []report) string {
	for rank, r := range reports {
		if r.Cannot != "" {
			return fmt.Sprintf("rank %d %s", rank, r.Cannot)
		}
	}
	return ""
}

// useBackend uses the backend that works on all ranks, and sets Why.
func (m *Memory) useBackend(reports []report, refusals []string) error {
	m.Backend = string(m.backend.kind())
	switch {
	case m.options.kind() != Auto:
		m.Why = cmp.Or(m.options.Why, "asked for")
	case len(refusals) == 0:
		m.Why = m.backend.how()
	default:
		m.Why = m.backend.how() + ", because " + strings.Join(refusals, ", and ")
	}
	p, ok := m.backend.(prober)
	if !ok {
		return nil
	}
	all := make([]facts, len(reports))
	for rank, r := range reports {
		all[rank] = r.Facts
	}
	return p.learn(all)
}

// refused is the error where nothing is left to try.
func (m *Memory) refused(refusals []string) error {
	err := &UnsupportedError{m.options.kind(), strings.Join(refusals, ", and ")}
	if m.options.Multicast && m.options.kind() == Auto {
		return fmt.Errorf("%w; %w", ErrNoMulticast, err)
	}
	return err
}

// initLibrary starts the library of a backend that has one.
func (m *Memory) initLibrary(ctx context.Context) error {
	s, ok := m.backend.(librarySession)
	if !ok {
		return nil
	}
	if err := m.agree(ctx, stepLibrary, s.initLibrary()); err != nil {
		// Finalizing would wait for a rank that has not initialized.
		return err
	}
	m.session = s
	return nil
}

// finalizeLibrary finalizes a library that initLibrary started. It would wait in vain for a rank that is
// lost: then the library ends with the process.
func (m *Memory) finalizeLibrary() error {
	if m.session == nil || m.peerLost {
		return nil
	}
	s := m.session
	m.session = nil
	return s.finalizeLibrary()
}
