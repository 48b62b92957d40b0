package tcpstore

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errProtocol is the error of bytes that are not of the protocol.
var errProtocol = errors.New("not the protocol of PyTorch's TCPStore")

// greeting returns the generation of a client by its first bytes, and how many of
// them belong to the greeting only. It returns false if there are too few. VALIDATE and the legacy
// SET are both 0; taken as a key's length, the magic number is over any limit.
func greeting(b []byte) (g generation, size int, known bool) {
	switch {
	case len(b) > 0 && b[0] != byte(opValidate):
		return legacy, 0, true
	case len(b) < 5:
		return 0, 0, false
	case binary.LittleEndian.Uint32(b[1:]) != validateMagic:
		return legacy, 0, true
	default:
		return current, 5, true
	}
}

// scanner finds out where a request ends, while its bytes arrive. It looks at
// a byte once, however small the pieces are.
type scanner struct {
	op       operation
	size     int    // of what has been understood
	fields   string // that are yet to come, before ...
	repeated string // ... these,
	times    uint64 // so often
}

func scan(g generation, code byte) (scanner, error) {
	op, ok := g.operation(code)
	if !ok {
		return scanner{}, fmt.Errorf("%w: code %d", errProtocol, code)
	}
	once, repeated := op.fields()
	return scanner{op: op, size: 1, fields: once, repeated: repeated}, nil
}

// complete says whether b, in which the request begins, has all of it. After
// a false it is called again with more. What is over a limit is refused at once.
func (s *scanner) complete(b []byte, limits Limits) (bool, error) {
	for {
		if s.fields == "" {
			if s.times == 0 {
				return true, nil
			}
			s.times--
			s.fields = s.repeated
		}
		size, err := s.field(b[s.size:], limits)
		if err != nil {
			return false, err
		}
		if int64(s.size+size) > limits.TotalBytes/4 {
			return false, fmt.Errorf("%w: a request of more than %d bytes", errLimit, limits.TotalBytes/4)
		}
		if size > len(b)-s.size {
			return false, nil
		}
		s.size += size
		s.fields = s.fields[1:]
	}
}

// field returns the size of the next field, or of what must be there to know.
func (s *scanner) field(b []byte, limits Limits) (int, error) {
	if s.fields[0] == fieldNonce {
		return 4, nil
	}
	if len(b) < 8 {
		return 8, nil
	}
	n, limit := binary.LittleEndian.Uint64(b), limits.ValueBytes
	switch s.fields[0] {
	case fieldNumber:
		return 8, nil
	case fieldCount:
		if n > uint64(limits.RequestKeys) {
			return 0, fmt.Errorf("%w: %d keys in one request; at most %d", errLimit, n, limits.RequestKeys)
		}
		s.times = n
		return 8, nil
	case fieldKey:
		limit = limits.KeyBytes
	}
	if n > uint64(limit) {
		return 0, fmt.Errorf("%w: a key or value of %d bytes; at most %d", errLimit, n, limit)
	}
	return 8 + int(n), nil
}

// request is one that a scanner has found to be complete. Its arguments are
// read one after the other, in the order of the operation's fields. Blobs are
// parts of what was received: the table copies what it keeps.
type request struct {
	op   operation
	rest []byte // what has not been read yet
}

func newRequest(op operation, b []byte) request { return request{op: op, rest: b[1:]} }

// take returns the next n bytes.
func (q *request) take(n int) []byte {
	b := q.rest[:n:n]
	q.rest = q.rest[n:]
	return b
}

// number returns an int64, or a count.
func (q *request) number() int64 { return int64(binary.LittleEndian.Uint64(q.take(8))) }

// blob returns a key or a value.
func (q *request) blob() []byte { return q.take(int(q.number())) }

// keys returns a count's keys.
func (q *request) keys() [][]byte {
	keys := make([][]byte, q.number())
	for i := range keys {
		keys[i] = q.blob()
	}
	return keys
}
