package tcpstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// errProtocol is what somebody has run into who does not speak the protocol.
var errProtocol = errors.New("not the protocol of PyTorch's TCPStore")

// request is one request, with those arguments that its operation has.
type request struct {
	op       operation
	key      string
	keys     []string
	value    []byte // COMPARE_SET: the desired one
	expected []byte
	values   [][]byte // as many as keys
	number   int64    // ADD: what to add; BARRIER: the world size
	nonce    [4]byte
}

// decoder reads requests. It holds memory for what has arrived, never for
// what was announced.
type decoder struct {
	r       *bufio.Reader
	limits  Limits
	arrived *budget // shared by all connections
	held    int64   // of arrived, for the present request
}

// generation tells by a connection's first bytes who is speaking. The first
// code has been read already. VALIDATE and the legacy SET are both 0; taken as
// a key's length, the magic number is over any limit.
func (d *decoder) generation(first byte) (generation, error) {
	if first != byte(opValidate) {
		return legacy, nil
	}
	magic, err := d.r.Peek(4)
	if err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint32(magic) != validateMagic {
		return legacy, nil
	}
	_, err = d.r.Discard(4)
	return current, err
}

// request reads what follows a code.
func (d *decoder) request(g generation, code byte) (request, error) {
	op, ok := g.operation(code)
	if !ok {
		return request{}, fmt.Errorf("%w: code %d", errProtocol, code)
	}
	q := request{op: op}
	return q, d.arguments(&q)
}

func (d *decoder) arguments(q *request) (err error) {
	switch q.op {
	case opGet, opDeleteKey, opQueuePop, opQueueLen:
		q.key, err = d.key()
	case opSet, opAppend, opQueuePush:
		err = d.keyAnd(q, &q.value)
	case opCompareSet:
		if err = d.keyAnd(q, &q.expected); err == nil {
			q.value, err = d.blob(d.limits.ValueBytes)
		}
	case opAdd, opBarrier:
		if q.key, err = d.key(); err == nil {
			var n uint64
			n, err = d.uint64()
			q.number = int64(n)
		}
	case opCheck, opWait, opMultiGet:
		err = d.list(q, false)
	case opMultiSet:
		err = d.list(q, true)
	case opPing:
		_, err = io.ReadFull(d.r, q.nonce[:])
	}
	return err
}

func (d *decoder) keyAnd(q *request, value *[]byte) (err error) {
	if q.key, err = d.key(); err == nil {
		*value, err = d.blob(d.limits.ValueBytes)
	}
	return err
}

// list reads keys, each with a value or without.
func (d *decoder) list(q *request, withValues bool) error {
	n, err := d.uint64()
	if err != nil {
		return err
	}
	if n > uint64(d.limits.RequestKeys) {
		return fmt.Errorf("%w: %d keys in one request; at most %d", errLimit, n, d.limits.RequestKeys)
	}
	for range n {
		key, err := d.key()
		if err != nil {
			return err
		}
		q.keys = append(q.keys, key)
		if !withValues {
			continue
		}
		value, err := d.blob(d.limits.ValueBytes)
		if err != nil {
			return err
		}
		q.values = append(q.values, value)
	}
	return nil
}

func (d *decoder) key() (string, error) {
	b, err := d.blob(d.limits.KeyBytes)
	return string(b), err
}

// blob reads a length and that many bytes, which the caller owns.
func (d *decoder) blob(limit int) ([]byte, error) {
	const step = 64 << 10
	length, err := d.uint64()
	if err != nil {
		return nil, err
	}
	if length > uint64(limit) {
		return nil, fmt.Errorf("%w: a key or value of %d bytes; at most %d", errLimit, length, limit)
	}
	if err := d.hold(perEntry); err != nil {
		return nil, err
	}
	var b []byte
	for n := int(length); len(b) < n; {
		more := min(n-len(b), step)
		if err := d.hold(int64(more)); err != nil {
			return nil, err
		}
		b = slices.Grow(b, more)[:len(b)+more]
		if _, err := io.ReadFull(d.r, b[len(b)-more:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (d *decoder) uint64() (uint64, error) {
	var b [8]byte
	for i := range b {
		c, err := d.r.ReadByte()
		if err != nil {
			return 0, err
		}
		b[i] = c
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// hold counts n bytes of the present request. One request may take a quarter
// of what there is for all.
func (d *decoder) hold(n int64) error {
	if d.held+n > d.limits.TotalBytes/4 {
		return fmt.Errorf("%w: a request of more than %d bytes", errLimit, d.limits.TotalBytes/4)
	}
	if !d.arrived.take(n) {
		return fmt.Errorf("%w: requests of more than %d bytes at once", errLimit, d.limits.TotalBytes)
	}
	d.held += n
	return nil
}

// release forgets the request: it has been carried out, or refused.
func (d *decoder) release() {
	d.arrived.give(d.held)
	d.held = 0
}
