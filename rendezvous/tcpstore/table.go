package tcpstore

import (
	"bytes"
	"container/list"
	"fmt"
	"strconv"
	"strings"
)

// table is what the clients share: keys with values, queues, and who waits
// for which of them. It does no I/O and belongs to one goroutine. Values that
// go in belong to it, and what comes out must not be written to.
type table struct {
	limits  Limits
	values  map[string][]byte
	queues  map[string][][]byte   // none is empty
	waiters map[string]*list.List // of absence, the oldest first; none is empty
	bytes   int64                 // of all three
	woken   []*waiter             // whose wait is over, until they are taken
}

func newTable(limits Limits) *table {
	return &table{
		limits:  limits,
		values:  map[string][]byte{},
		queues:  map[string][][]byte{},
		waiters: map[string]*list.List{},
	}
}

// set stores values under their keys, each or, over a limit, none of the rest.
func (t *table) set(keys []string, values [][]byte) error {
	for i, key := range keys {
		if err := t.put(key, values[i]); err != nil {
			return err
		}
		t.wakeAll(key)
	}
	return nil
}

// compareSet stores desired when the key has the expected value, or when it
// is missing and nothing is expected. It returns the value that the key has
// then; to one who expected something of a missing key, what it expected.
func (t *table) compareSet(key string, expected, desired []byte) ([]byte, error) {
	value, exists := t.values[key]
	switch {
	case !bytes.Equal(value, expected) && exists:
		return value, nil
	case !exists && len(expected) > 0:
		return expected, nil
	}
	if err := t.put(key, desired); err != nil {
		return nil, err
	}
	t.wakeAll(key)
	return desired, nil
}

// get returns a key's value, nil when it is missing.
func (t *table) get(key string) []byte { return t.values[key] }

// add adds to a decimal number, 0 when the key is missing, and returns the sum.
func (t *table) add(key string, delta int64) (int64, error) {
	sum, err := t.plus(key, delta)
	if err == nil {
		t.wakeAll(key)
	}
	return sum, err
}

// plus is add, and wakes nobody.
func (t *table) plus(key string, delta int64) (int64, error) {
	var before int64
	if value, exists := t.values[key]; exists {
		var err error
		if before, err = parseNumber(value); err != nil {
			return 0, fmt.Errorf("adding to key %.100q: %w", key, err)
		}
	}
	sum := before + delta
	if (sum > before) != (delta > 0) && delta != 0 {
		return 0, fmt.Errorf("%w: key %.100q: %d plus %d", errLimit, key, before, delta)
	}
	return sum, t.put(key, strconv.AppendInt(nil, sum, 10))
}

// parseNumber reads a number as C++'s std::stoll does: blanks in front of it
// and anything behind it are passed over.
func parseNumber(value []byte) (int64, error) {
	digits := strings.TrimLeft(string(value), " \t\n\v\f\r")
	end := 0
	if end < len(digits) && (digits[end] == '-' || digits[end] == '+') {
		end++
	}
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(digits[:end], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.100q is not a number of 64 bits", value)
	}
	return n, nil
}

// append adds to the end of a value, which may be missing.
func (t *table) append(key string, more []byte) error {
	old := t.values[key]
	if len(old)+len(more) > t.limits.ValueBytes {
		return fmt.Errorf("%w: key %.100q: a value of more than %d bytes", errLimit, key, t.limits.ValueBytes)
	}
	// Readers of the old value never look behind its end, so it may grow in place.
	if err := t.put(key, append(old, more...)); err != nil {
		return err
	}
	t.wakeAll(key)
	return nil
}

// remove deletes a key and returns how many there were, 0 or 1.
func (t *table) remove(key string) int {
	value, exists := t.values[key]
	if !exists {
		return 0
	}
	t.bytes -= cost(key, value)
	delete(t.values, key)
	return 1
}

// len is the number of keys. Queues are not counted.
func (t *table) len() int { return len(t.values) }

// keys lists all keys, in no order.
func (t *table) keys() []string {
	keys := make([]string, 0, len(t.values))
	for key := range t.values {
		keys = append(keys, key)
	}
	return keys
}

func (t *table) put(key string, value []byte) error {
	added := cost(key, value)
	if old, exists := t.values[key]; exists {
		added -= cost(key, old)
	}
	if err := t.grow(added); err != nil {
		return err
	}
	t.values[key] = value
	return nil
}

func (t *table) grow(by int64) error {
	if by > 0 && t.bytes+by > t.limits.TotalBytes {
		return fmt.Errorf("%w: over %d bytes in all; delete keys that are no longer needed", errLimit, t.limits.TotalBytes)
	}
	t.bytes += by
	return nil
}

func cost(key string, value []byte) int64 { return int64(len(key) + len(value) + perEntry) }
