package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MissingKeys says which keys a Wait did not see in time. It is a
// [context.DeadlineExceeded].
type MissingKeys struct {
	Keys  []string // the first few, sorted
	Count int      // how many are missing
}

func (e *MissingKeys) Error() string {
	quoted := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		quoted[i] = strconv.Quote(key)
	}
	s := "waiting for keys " + strings.Join(quoted, ", ")
	if more := e.Count - len(e.Keys); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// Unwrap makes errors.Is(err, context.DeadlineExceeded) work.
func (e *MissingKeys) Unwrap() error { return context.DeadlineExceeded }

// waiter is a Wait in progress.
type waiter struct {
	missing map[string]struct{}
	done    chan struct{} // closed when nothing is missing any more
}

// Wait returns when each of the keys has been seen to exist. When ctx ends
// first, the error is *MissingKeys for a deadline and ctx's own otherwise.
func (s *Store) Wait(ctx context.Context, keys []string) error {
	if len(keys) > MaxWaitKeys {
		return fmt.Errorf("%w: waiting for %d keys; at most %d", ErrLimit, len(keys), MaxWaitKeys)
	}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	w := s.watch(keys)
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return s.giveUp(ctx, w)
	}
}

// watch registers a waiter for those keys that do not exist.
func (s *Store) watch(keys []string) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{missing: map[string]struct{}{}, done: make(chan struct{})}
	for _, key := range keys {
		if _, ok := s.values[key]; ok {
			continue
		}
		w.missing[key] = struct{}{}
		if s.waiters[key] == nil {
			s.waiters[key] = map[*waiter]struct{}{}
		}
		s.waiters[key][w] = struct{}{}
	}
	if len(w.missing) == 0 {
		close(w.done)
	}
	return w
}

// wake tells the readers that wait for a key that it exists.
func (s *Store) wake(key string) {
	for w := range s.waiters[key] {
		delete(w.missing, key)
		if len(w.missing) == 0 {
			close(w.done)
		}
	}
	delete(s.waiters, key)
}

// giveUp removes a waiter whose context has ended.
func (s *Store) giveUp(ctx context.Context, w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(w.missing) == 0 {
		return nil
	}
	for key := range w.missing {
		delete(s.waiters[key], w)
		if len(s.waiters[key]) == 0 {
			delete(s.waiters, key)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		const few = 8
		keys := slices.Sorted(maps.Keys(w.missing))
		return &MissingKeys{Keys: keys[:min(few, len(keys))], Count: len(keys)}
	}
	return context.Cause(ctx)
}
