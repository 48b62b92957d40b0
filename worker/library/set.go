package library

import (
	"context"
	"errors"
	"fmt"

	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/peers"
	"gpurun/worker/status"
	"gpurun/worker/workload"
)

// Options say which libraries there are, and what their calls report to.
type Options struct {
	Open  map[string]Open   // by name
	Paths map[string]string // of files, by name; those that it lacks are searched for
	// Abort reports an error and ends the process at once: foreign code does not return.
	Abort  func(error)
	Status *status.Reporter
}

// Set holds the libraries that are open on one rank.
type Set struct {
	options  Options
	failure  failure
	peers    *peers.Peers
	watchdog *watchdog // nil: no library was named
	names    []string
	open     map[string]Library
	offers   map[string]offer
	missing  map[string]string // why a library cannot be used
	joined   []Library         // and not left
}

// New returns a set of no libraries.
func New(o Options) *Set { return &Set{options: o} }

// offer is what a rank says about a library.
type offer struct {
	Title   string `json:"title,omitempty"`
	Missing string `json:"missing,omitempty"` // why it is not there
}

// Open opens the named libraries on this rank. device names the rank's device in errors.
func (s *Set) Open(names []string, device string) {
	s.names, s.open, s.offers = names, map[string]Library{}, map[string]offer{}
	for _, name := range names {
		s.offers[name] = s.openOne(name, device)
	}
}

// Agree finds out which of the libraries every rank has opened, in the same version. Calls
// that wait for peers are aborted from now on when ctx ends or they exceed the peers' limit.
func (s *Set) Agree(ctx context.Context, p *peers.Peers) error {
	s.peers, s.missing = p, map[string]string{}
	s.startWatchdog(ctx, p.Limit())
	all, err := peers.Gather(ctx, p, "libraries", s.offers)
	if err != nil {
		return err
	}
	for _, name := range s.names {
		for rank := len(all) - 1; rank >= 0; rank-- {
			if why := all[rank][name].Missing; why != "" {
				s.missing[name] = fmt.Sprintf("rank %d: %s", rank, why)
			} else if title := all[rank][name].Title; title != all[0][name].Title && all[0][name].Missing == "" {
				s.missing[name] = fmt.Sprintf("rank 0 has %s and rank %d %s", all[0][name].Title, rank, title)
			}
		}
	}
	return nil
}

func (s *Set) openOne(name, device string) offer {
	open, ok := s.options.Open[name]
	if !ok {
		return offer{Missing: fmt.Sprintf("%s needs a GPU, and this is %s", name, device)}
	}
	l, err := open(s.options.Paths[name])
	if err != nil {
		return offer{Missing: err.Error()}
	}
	s.open[name] = l
	return offer{Title: l.Title()}
}

// Capabilities are the libraries that are open, and why others cannot be used; by name.
func (s *Set) Capabilities() (open map[string]workload.Library, missing map[string]string) {
	open = map[string]workload.Library{}
	for name, l := range s.open {
		open[name] = l
	}
	return open, s.missing
}

// Get is an open library, or nil.
func (s *Set) Get(name string) Library { return s.open[name] }

// Title is an open library's name and version, or empty.
func (s *Set) Title(name string) string {
	if l := s.open[name]; l != nil {
		return l.Title()
	}
	return ""
}

// AsyncError is an open library's asynchronous error, or nil.
func (s *Set) AsyncError(name string) error {
	l := s.open[name]
	if l == nil {
		return nil
	}
	if err := l.Err(); err != nil {
		return &Error{l.Title(), err}
	}
	return nil
}

// Join has the ranks meet in every one of the libraries that the plan needs, registers the
// shared memory with those that want it, and returns the libraries as the kernels'
// communicator wants them.
func (s *Set) Join(ctx context.Context, needs func(name string) bool, memory *symm.Memory) (
	map[string]collective.Library, error,
) {
	needed := map[string]collective.Library{}
	for _, name := range s.names { // in the same order everywhere
		if !needs(name) {
			continue
		}
		l := s.open[name]
		if !l.HasHeap() {
			if err := s.join(ctx, l); err != nil {
				return nil, fmt.Errorf("joining the ranks in %s: %w", l.Title(), err)
			}
		}
		if err := s.register(l, memory); err != nil {
			return nil, err
		}
		needed[name] = l
	}
	return needed, nil
}

func (s *Set) join(ctx context.Context, l Library) error {
	var mine struct {
		ID      []byte `json:"id,omitempty"`
		Failure string `json:"failure,omitempty"`
	}
	if s.peers.Rank() == 0 {
		id, err := l.NewUniqueID()
		if mine.ID = id[:]; err != nil {
			mine.Failure = err.Error()
		}
	}
	all, err := peers.Gather(ctx, s.peers, "library id", mine)
	if err != nil {
		return err
	}
	if why := all[0].Failure; why != "" || len(all[0].ID) != 128 {
		return &Error{l.Title(), fmt.Errorf("rank 0 could not create the unique id: %s", why)}
	}
	err = s.supervise("joining the ranks in "+l.Title(), func() error {
		return l.Join(s.peers.Rank(), s.peers.WorldSize(), [128]byte(all[0].ID))
	})
	if err != nil {
		return &Error{l.Title(), err}
	}
	s.joined = append(s.joined, l)
	return nil
}

// register registers memory with a library that works on no other.
func (s *Set) register(l Library, memory *symm.Memory) error {
	r, ok := l.(Registrar)
	if !ok {
		return nil
	}
	activity := "registering memory with " + l.Title()
	err := s.supervise(activity, func() error { return r.Register(memory.Local, memory.Bytes) })
	if err != nil {
		return fmt.Errorf("%s: %w", activity, &Error{l.Title(), err})
	}
	return nil
}

// Leave leaves the libraries in step with the peers, before memory is freed.
func (s *Set) Leave() error {
	for len(s.joined) > 0 {
		l := s.joined[0]
		s.joined = s.joined[1:]
		if err := s.supervise("leaving "+l.Title(), l.Leave); err != nil {
			return err
		}
	}
	return nil
}

// Fail records why the rank fails. Later calls only clean up. If one of them hangs, err is still
// the reported error.
func (s *Set) Fail(err error) { s.failure.set(err) }

// Close aborts the libraries that the rank has joined and not left: after a failure the
// peers may not come. It ends the watchdog.
func (s *Set) Close() error {
	if s.watchdog == nil {
		return nil
	}
	var errs []error
	for i := len(s.joined) - 1; i >= 0; i-- {
		l := s.joined[i]
		errs = append(errs, s.supervise("aborting "+l.Title(), l.Abort))
	}
	s.watchdog.stop()
	return errors.Join(errs...)
}
