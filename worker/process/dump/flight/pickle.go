package flight

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The reader of pickles knows the opcodes that PyTorch's C++ code writes, and those by which Python's pickle writes the
// same values in protocols 2 to 5 (torch/csrc/jit/serialization/pickler.cpp, Lib/pickletools.py). It refuses opcodes
// that import, call or build anything: a dump of plain values has none.
//
// A value is nil, a bool, an int64, a float64, a string, a *list (of a list or a tuple) or a *dict. Values are shared
// as the pickle shares them, so a list may contain itself: code that walks values bounds the depth.
type (
	list struct{ items []any }
	dict struct{ keys, values []any }
)

var errPickle = errors.New("damaged pickle")

// mostSteps bounds the opcodes, and by that the memory: an opcode takes less than 100 bytes, strings aside. A dump of
// 20,000 collectives has about 2.4 million.
const mostSteps = 4 << 20

type unpickler struct {
	in    []byte
	stack []any
	marks []int // heights of the stack
	memo  map[uint32]any
	steps int
}

// unpickle returns the value of a pickle. Strings are copied out of it.
func unpickle(in []byte) (any, error) {
	u := unpickler{in: in, memo: map[uint32]any{}}
	for {
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' { // STOP
			return u.pop()
		}
		if u.steps++; u.steps > mostSteps {
			return nil, fmt.Errorf("%w: more than %d opcodes", errPickle, mostSteps)
		}
		if err := u.step(op[0]); err != nil {
			return nil, err
		}
	}
}

func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := u.take(1)
		return err
	case 0x95: // FRAME
		_, err := u.take(8)
		return err
	case '(': // MARK
		u.marks = append(u.marks, len(u.stack))
		return nil
	case 'q', 'r', 0x94, 'h', 'j': // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
		return u.remember(op)
	case ')', 't', 0x85, 0x86, 0x87, ']', 'a', 'e', 'l': // of tuples and lists
		return u.list(op)
	case '}', 's', 'u', 'd': // of dictionaries
		return u.dict(op)
	}
	v, err := u.scalar(op)
	if err == nil {
		u.push(v)
	}
	return err
}

func (u *unpickler) scalar(op byte) (any, error) {
	switch op {
	case 'N': // NONE
		return nil, nil
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return op == 0x88, nil
	case 'K': // BININT1
		return u.integer(1)
	case 'M': // BININT2
		return u.integer(2)
	case 'J': // BININT, signed
		n, err := u.integer(4)
		return int64(int32(n)), err
	case 0x8a: // LONG1, little-endian two's complement
		return u.long()
	case 'G': // BINFLOAT, big-endian
		b, err := u.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case 0x8c, 'U', 'C': // SHORT_BINUNICODE, SHORT_BINSTRING, SHORT_BINBYTES
		return u.text(1)
	case 'X', 'T', 'B': // BINUNICODE, BINSTRING, BINBYTES
		return u.text(4)
	case 0x8d, 0x8e: // BINUNICODE8, BINBYTES8
		return u.text(8)
	case 'c', 'R', 'b', 0x81, 0x92, 0x93, 'i', 'o', 'P', 'Q', 0x82, 0x83, 0x84:
		return nil, fmt.Errorf("the pickle wants to call code by opcode %q, which no flight recorder does: refused", op)
	}
	return nil, fmt.Errorf("%w: opcode %#02x", errPickle, op)
}

func (u *unpickler) long() (any, error) {
	size, err := u.integer(1)
	if err != nil {
		return nil, err
	}
	b, err := u.take(int(size))
	if err != nil {
		return nil, err
	}
	if size > 8 {
		return nil, fmt.Errorf("%w: an integer of %d bytes", errPickle, size)
	}
	var n int64
	for i, digit := range b {
		n |= int64(digit) << (8 * i)
	}
	unused := 64 - 8*len(b)
	return n << unused >> unused, nil
}

// integer takes an unsigned integer of so many bytes, little-endian.
func (u *unpickler) integer(size int) (int64, error) {
	b, err := u.take(size)
	var n uint64
	for i, digit := range b {
		n |= uint64(digit) << (8 * i)
	}
	return int64(n), err
}

// text takes a string behind its length, which has so many bytes.
func (u *unpickler) text(size int) (any, error) {
	n, err := u.integer(size)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(u.in)) {
		return nil, fmt.Errorf("%w: %w", errPickle, io.ErrUnexpectedEOF)
	}
	b, err := u.take(int(n))
	return string(b), err
}

func (u *unpickler) take(n int) ([]byte, error) {
	if n > len(u.in) {
		return nil, fmt.Errorf("%w: %w", errPickle, io.ErrUnexpectedEOF)
	}
	b := u.in[:n]
	u.in = u.in[n:]
	return b, nil
}

func (u *unpickler) remember(op byte) error {
	index := int64(len(u.memo)) // MEMOIZE
	var err error
	switch op {
	case 'q', 'h':
		index, err = u.integer(1)
	case 'r', 'j':
		index, err = u.integer(4)
	}
	if err != nil {
		return err
	}
	if op == 'h' || op == 'j' {
		v, ok := u.memo[uint32(index)]
		if !ok {
			return fmt.Errorf("%w: no value %d was stored", errPickle, index)
		}
		u.push(v)
		return nil
	}
	v, err := u.top()
	u.memo[uint32(index)] = v
	return err
}
