package tcpstore

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// outbox has what a client is yet to be sent. Small values are copied together,
// large ones stay where they are.
type outbox struct {
	parts  [][]byte
	ours   bool  // the last part belongs to the outbox and may grow
	size   int   // of what has been put in since it was empty
	memory int64 // that it takes, without the large values
}

// copyBelow is the size from which on a part of its own is cheaper than a copy.
const copyBelow = 1 << 10

// partsAtOnce is what one writev takes.
const partsAtOnce = 1024

func (o *outbox) empty() bool { return len(o.parts) == 0 }

func (o *outbox) bytes(b ...byte) {
	if !o.ours {
		o.parts, o.ours = append(o.parts, nil), true
	}
	last := &o.parts[len(o.parts)-1]
	*last = append(*last, b...)
	o.size += len(b)
	o.memory += int64(len(b))
}

func (o *outbox) number(n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	o.bytes(b[:]...)
}

// blob is a value behind its length.
func (o *outbox) blob(value []byte) {
	o.number(len(value))
	if len(value) < copyBelow {
		o.bytes(value...)
		return
	}
	o.parts, o.ours = append(o.parts, value), false
	o.size += len(value)
	o.memory += perEntry
}

// writeTo sends as much as a socket takes at present.
func (o *outbox) writeTo(fd int) error {
	for !o.empty() {
		n, err := writeParts(fd, o.parts[:min(len(o.parts), partsAtOnce)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return err
		}
		for n > 0 && n >= len(o.parts[0]) {
			n -= len(o.parts[0])
			o.parts = o.parts[1:]
		}
		if n > 0 {
			o.parts[0] = o.parts[0][n:]
		}
	}
	*o = outbox{}
	return nil
}

func writeParts(fd int, parts [][]byte) (int, error) {
	if len(parts) == 1 { // a plain write takes less time
		return unix.Write(fd, parts[0])
	}
	return unix.Writev(fd, parts)
}
