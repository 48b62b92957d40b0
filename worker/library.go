package worker

import (
	"context"
	"fmt"

	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// Library is a library of others that is open on this rank, such as NCCL. Its
// methods are called from the rank's main goroutine.
type Library interface {
	collective.Library
	// Title is the name and the version, such as "NCCL 2.28.9".
	Title() string
	// NewUniqueID makes the id by which the ranks find each other. It is made by
	// rank 0, which has to live until all have joined.
	NewUniqueID() ([128]byte, error)
	// Join meets the other ranks, and Leave parts from them: both may wait for
	// them. A library that has a heap joins and leaves with that.
	Join(rank, world int, id [128]byte) error
	Leave() error
	// Abort ends what is under way and frees the library without the others.
	Abort() error
	// Err is what went wrong behind the caller's back, or nil.
	Err() error
	// HasHeap reports whether buffers have to lie in the library's own symmetric
	// memory. Heap prepares one with room for so many bytes.
	HasHeap() bool
	Heap(bytes int64, oneMachine bool) (symm.NVSHMEM, error)
}

// OpenLibrary opens a library from a file; an empty path is to be searched for.
type OpenLibrary func(path string) (Library, error)

// libraryOffer is what a rank says about a library.
type libraryOffer struct {
	Title   string `json:"title,omitempty"`
	Missing string `json:"missing,omitempty"` // why it is not there
}

// openLibraries opens what the job names, and lets all ranks know which of it is
// there: on all of them or on none.
func (r *rank) openLibraries(ctx context.Context) error {
	names := r.plan.Libraries()
	if len(names) == 0 {
		return nil
	}
	if err := r.phase("opening libraries"); err != nil {
		return err
	}
	r.Phases.Begin(phases.Libraries)
	r.startWatchdog(ctx)
	mine := map[string]libraryOffer{}
	for _, name := range names {
		mine[name] = r.openLibrary(name)
	}
	ctx, cancel := r.within(ctx)
	defer cancel()
	all, err := gather(ctx, r.group, "libraries", mine)
	if err != nil {
		return err
	}
	r.caps.Libraries, r.caps.Missing = map[string]workload.Library{}, map[string]string{}
	for name, l := range r.libraries {
		r.caps.Libraries[name] = l
	}
	for _, name := range names {
		for rank := len(all) - 1; rank >= 0; rank-- {
			if why := all[rank][name].Missing; why != "" {
				r.caps.Missing[name] = fmt.Sprintf("rank %d: %s", rank, why)
			} else if title := all[rank][name].Title; title != all[0][name].Title && all[0][name].Missing == "" {
				r.caps.Missing[name] = fmt.Sprintf("rank 0 has %s and rank %d %s", all[0][name].Title, rank, title)
			}
		}
	}
	return nil
}

func (r *rank) openLibrary(name string) libraryOffer {
	open, ok := r.Libraries[name]
	if !ok {
		return libraryOffer{Missing: fmt.Sprintf("%s works on GPUs alone, and this is %s", name, r.device.Info().Name)}
	}
	l, err := open(r.Job.LibraryPaths[name])
	if err != nil {
		return libraryOffer{Missing: err.Error()}
	}
	if r.libraries == nil {
		r.libraries = map[string]Library{}
	}
	r.libraries[name] = l
	return libraryOffer{Title: l.Title()}
}

// joinLibraries has the ranks meet in every library that the cases use, and
// returns these as the kernels' communicator wants them.
func (r *rank) joinLibraries(ctx context.Context) (map[string]collective.Library, error) {
	joined := map[string]collective.Library{}
	for _, name := range r.plan.Libraries() { // in the same order everywhere
		if !r.plan.Needs(name) {
			continue
		}
		l := r.libraries[name]
		if !l.HasHeap() {
			if err := r.joinLibrary(ctx, l); err != nil {
				return nil, fmt.Errorf("joining the ranks in %s: %w", l.Title(), err)
			}
		}
		joined[name] = l
	}
	return joined, nil
}

func (r *rank) joinLibrary(ctx context.Context, l Library) error {
	var mine struct {
		ID      []byte `json:"id,omitempty"`
		Failure string `json:"failure,omitempty"`
	}
	if r.Rank == 0 {
		id, err := l.NewUniqueID()
		if mine.ID = id[:]; err != nil {
			mine.Failure = err.Error()
		}
	}
	waiting, cancel := r.within(ctx)
	defer cancel()
	all, err := gather(waiting, r.group, "library id", mine)
	if err != nil {
		return err
	}
	if why := all[0].Failure; why != "" || len(all[0].ID) != 128 {
		return &LibraryError{l.Title(), fmt.Errorf("rank 0 made no id for the ranks to meet by: %s", why)}
	}
	err = r.supervised("joining the ranks in "+l.Title(), func() error {
		return l.Join(r.Rank, r.WorldSize, [128]byte(all[0].ID))
	})
	if err != nil {
		return &LibraryError{l.Title(), err}
	}
	left := false
	r.leaving = append(r.leaving, func() error {
		left = true
		return r.supervised("leaving "+l.Title(), l.Leave)
	})
	r.onClose(func() error { // after a failure the peers may not come
		if left {
			return nil
		}
		return r.supervised("aborting "+l.Title(), l.Abort)
	})
	return nil
}

// LibraryError is a failure of a library of others.
type LibraryError struct {
	Title string
	Err   error
}

func (e *LibraryError) Error() string { return fmt.Sprintf("%s: %v", e.Title, e.Err) }

// Unwrap returns the library's own error.
func (e *LibraryError) Unwrap() error { return e.Err }
