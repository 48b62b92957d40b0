package tcpstore

import (
	"bytes"
	"container/list"
	"fmt"
	"strconv"
	"strings"
)

// table is what the clients share: keys with values, queues, and waiters. It does no
// I/O, and is not safe for concurrent use. It copies what it keeps. The caller must
// not write to what it returns. A returned value of copyBelow bytes or more stays
// unchanged; a shorter one is valid until the next call.
type table struct {
	limits  Limits
	values  map[string]*entry
	queues  map[string][][]byte   // none is empty
	waiters map[string]*list.List // of absence, the oldest first; none is empty
	bytes   int64                 // of all three
}

// entry is what a key leads to. The map has pointers because a value is then
// replaced without making a string of the key once more.
type entry struct{ value []byte }

func newTable(limits Limits) *table {
	return &table{
		limits:  limits,
		values:  map[string]*entry{},
		queues:  map[string][][]byte{},
		waiters: map[string]*list.List{},
	}
}

// set stores a value under its key.
func (t *table) set(key, value []byte) error {
	if err := t.put(key, value); err != nil {
		return err
	}
	t.wakeAll(key)
	return nil
}

// compareSet stores desired if the key has the expected value, or if the key is
// missing and expected is empty. It returns the value that the key has afterwards. If
// the key is missing afterwards, it returns expected.
func (t *table) compareSet(key, expected, desired []byte) ([]byte, error) {
	e := t.values[string(key)]
	switch {
	case e != nil && !bytes.Equal(e.value, expected):
		return e.value, nil
	case e == nil && len(expected) > 0:
		return bytes.Clone(expected), nil
	}
	if err := t.set(key, desired); err != nil {
		return nil, err
	}
	return t.get(key), nil
}

// get returns a key's value, nil when it is missing.
func (t *table) get(key []byte) []byte {
	if e := t.values[string(key)]; e != nil {
		return e.value
	}
	return nil
}

// add adds to a decimal number, 0 when the key is missing, and returns the sum.
func (t *table) add(key []byte, delta int64) (int64, error) {
	sum, err := t.plus(key, delta)
	if err == nil {
		t.wakeAll(key)
	}
	return sum, err
}

// plus is add without waking waiters.
func (t *table) plus(key []byte, delta int64) (int64, error) {
	var before int64
	if e := t.values[string(key)]; e != nil {
		var err error
		if before, err = parseNumber(e.value); err != nil {
			return 0, fmt.Errorf("adding to key %.100q: %w", key, err)
		}
	}
	sum := before + delta
	if (sum > before) != (delta > 0) && delta != 0 {
		return 0, fmt.Errorf("%w: key %.100q: %d plus %d", errLimit, key, before, delta)
	}
	var digits [20]byte
	return sum, t.put(key, strconv.AppendInt(digits[:0], sum, 10))
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
func (t *table) append(key, more []byte) error {
	size := len(t.get(key)) + len(more)
	if size > t.limits.ValueBytes {
		return fmt.Errorf("%w: key %.100q: a value of more than %d bytes", errLimit, key, t.limits.ValueBytes)
	}
	e, err := t.resize(key, size)
	if err != nil {
		return err
	}
	// Readers of the old value never look behind its end, so it may grow in place.
	e.value = append(e.value, more...)
	t.wakeAll(key)
	return nil
}

// remove deletes a key and returns how many there were, 0 or 1.
func (t *table) remove(key []byte) int {
	e := t.values[string(key)]
	if e == nil {
		return 0
	}
	t.bytes -= cost(len(key), len(e.value))
	delete(t.values, string(key))
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

func (t *table) put(key, value []byte) error {
	e, err := t.resize(key, len(value))
	if err == nil {
		e.value = overwrite(e.value, value)
	}
	return err
}

// resize returns a key's entry, a new one if it is missing, when there is room
// for a value of that size, which the caller must then store.
func (t *table) resize(key []byte, size int) (*entry, error) {
	if e := t.values[string(key)]; e != nil {
		return e, t.grow(int64(size - len(e.value)))
	}
	if err := t.grow(cost(len(key), size)); err != nil {
		return nil, err
	}
	e := &entry{}
	t.values[string(key)] = e
	return e, nil
}

// overwrite returns a copy of value, in old's place if it fits there well. It
// leaves long ones as they are, since replies under way may refer to them.
func overwrite(old, value []byte) []byte {
	if len(old) >= copyBelow || cap(old) < len(value) || cap(old) > 2*len(value)+perEntry {
		return bytes.Clone(value)
	}
	return append(old[:0], value...)
}

func (t *table) grow(by int64) error {
	if by > 0 && t.bytes+by > t.limits.TotalBytes {
		return fmt.Errorf("%w: over %d bytes in all; delete keys that are no longer needed", errLimit, t.limits.TotalBytes)
	}
	t.bytes += by
	return nil
}

// cost is what a key of so many bytes takes, with a value of so many.
func cost(key, value int) int64 { return int64(key + value + perEntry) }
