package tcpstore

import (
	"encoding/binary"
	"io"
	"net"
)

// reply is what a client is to be sent. Small values are copied, large ones are
// referred to.
type reply struct {
	parts  net.Buffers
	ours   bool  // the last part belongs to the reply and may grow
	size   int   // of all parts
	memory int64 // that the reply takes, without the large values
}

// copyBelow is the size from which on a separate part is cheaper than a copy.
const copyBelow = 1 << 10

func (r *reply) empty() bool { return len(r.parts) == 0 }

func (r *reply) bytes(b ...byte) {
	if !r.ours {
		r.parts, r.ours = append(r.parts, nil), true
	}
	last := &r.parts[len(r.parts)-1]
	*last = append(*last, b...)
	r.size += len(b)
	r.memory += int64(len(b))
}

func (r *reply) number(n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	r.bytes(b[:]...)
}

// blob adds a value behind its length.
func (r *reply) blob(value []byte) {
	r.number(len(value))
	if len(value) < copyBelow {
		r.bytes(value...)
		return
	}
	r.parts, r.ours = append(r.parts, value), false
	r.size += len(value)
	r.memory += perEntry
}

// writeTo sends the reply, which is empty afterwards.
func (r *reply) writeTo(w io.Writer) error {
	var err error
	if len(r.parts) == 1 { // a plain write takes less time than a vectored one
		_, err = w.Write(r.parts[0])
	} else {
		_, err = r.parts.WriteTo(w)
	}
	*r = reply{}
	return err
}
