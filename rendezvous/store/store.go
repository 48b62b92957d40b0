// Package store is a bounded key-value store in memory whose readers can wait
// for keys to appear.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// Bounds on what a store holds.
const (
	MaxKeyBytes   = 1 << 10
	MaxValueBytes = 1 << 20
	MaxKeys       = 1 << 16
	MaxTotalBytes = 64 << 20 // of all keys and values
	MaxWaitKeys   = 1 << 12  // in one Wait
)

// The ways in which a request can be wrong.
var (
	ErrInvalid    = errors.New("invalid key or value")
	ErrLimit      = errors.New("store is full")
	ErrNotFound   = errors.New("key not found")
	ErrNotANumber = errors.New("value is not a number")
)

// Store is safe for concurrent use. Values are copied on the way in; what
// comes out must not be written to.
type Store struct {
	mu      sync.Mutex
	values  map[string][]byte
	bytes   int
	waiters map[string]map[*waiter]struct{} // by key that is missing
}

// New returns an empty store.
func New() *Store {
	return &Store{values: map[string][]byte{}, waiters: map[string]map[*waiter]struct{}{}}
}

// Set stores a value under a key, whether or not the key exists.
func (s *Store) Set(key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(key, value)
}

// Get returns a key's value, or ErrNotFound.
func (s *Store) Get(key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.values[key]; ok {
		return value, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNotFound, clip(key))
}

// Add adds delta to a decimal number and returns the sum. A key that does not
// exist counts as 0.
func (s *Store) Add(key string, delta int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	if value, ok := s.values[key]; ok {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: key %q", ErrNotANumber, clip(key))
		}
		sum = n
	}
	before := sum
	sum += delta
	if (sum > before) != (delta > 0) && delta != 0 {
		return 0, fmt.Errorf("%w: key %q: %d plus %d overflows", ErrInvalid, clip(key), before, delta)
	}
	return sum, s.put(key, strconv.AppendInt(nil, sum, 10))
}

// CompareAndSet stores desired when the key's value is expected, or, with
// expected nil, when the key does not exist. It returns the value that the
// key has afterwards, nil for none, and whether desired was stored.
func (s *Store) CompareAndSet(key string, expected, desired []byte) (current []byte, swapped bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current, exists := s.values[key]
	if exists != (expected != nil) || !bytes.Equal(current, expected) {
		return current, false, checkKey(key)
	}
	if err := s.put(key, desired); err != nil {
		return current, false, err
	}
	return s.values[key], true, nil
}

// Delete removes a key and says whether it existed.
func (s *Store) Delete(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	if ok {
		s.bytes -= len(key) + len(value)
		delete(s.values, key)
	}
	return ok
}

// put stores a value and wakes the readers that wait for the key.
func (s *Store) put(key string, value []byte) error {
	if err := s.checkRoom(key, value); err != nil {
		return err
	}
	old, exists := s.values[key]
	if exists {
		s.bytes -= len(key) + len(old)
	}
	stored := make([]byte, len(value))
	copy(stored, value)
	s.values[key] = stored
	s.bytes += len(key) + len(stored)
	s.wake(key)
	return nil
}

func (s *Store) checkRoom(key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	old, exists := s.values[key]
	added := len(value)
	if exists {
		added -= len(old)
	} else {
		added += len(key)
	}
	switch {
	case len(value) > MaxValueBytes:
		return fmt.Errorf("%w: key %q: a value of %d bytes; at most %d", ErrInvalid, clip(key), len(value), MaxValueBytes)
	case !exists && len(s.values) >= MaxKeys:
		return fmt.Errorf("%w: %d keys", ErrLimit, MaxKeys)
	case s.bytes+added > MaxTotalBytes:
		return fmt.Errorf("%w: over %d bytes in all", ErrLimit, MaxTotalBytes)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return fmt.Errorf("%w: a key of %d bytes; want 1 to %d", ErrInvalid, len(key), MaxKeyBytes)
	}
	return nil
}

// clip keeps an unreasonable key out of error messages.
func clip(key string) string {
	if len(key) > MaxKeyBytes {
		return key[:MaxKeyBytes]
	}
	return key
}
