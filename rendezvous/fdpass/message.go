package fdpass

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Bounds on messages.
const (
	MaxNameBytes = 256
	MaxRanks     = 1024 // on one host
)

// magic begins every message; its last byte is the version of the format.
const magic = "gpfd\x01"

// header tells what the file descriptor beside it is. On the wire it is
//
//	magic [5]byte | rank uint32 | sequence uint64 | name, to the end
//
// with little-endian numbers.
type header struct {
	rank     int    // of the sender
	sequence uint64 // how often the sender has used the name before
	name     string
}

const (
	fixedBytes   = len(magic) + 4 + 8
	maxMsgBytes  = fixedBytes + MaxNameBytes
	maxOOBFiles  = 8 // room to see, and close, more descriptors than allowed
	bytesPerFile = 4
)

var errMessage = errors.New("not a valid message")

func (h header) encode() []byte {
	b := make([]byte, 0, fixedBytes+len(h.name))
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.rank))
	b = binary.LittleEndian.AppendUint64(b, h.sequence)
	return append(b, h.name...)
}

func decodeHeader(b []byte) (header, error) {
	if len(b) < fixedBytes || len(b) > maxMsgBytes || string(b[:len(magic)]) != magic {
		return header{}, fmt.Errorf("%w: %d bytes, or not of this protocol's version", errMessage, len(b))
	}
	b = b[len(magic):]
	h := header{
		rank:     int(binary.LittleEndian.Uint32(b)),
		sequence: binary.LittleEndian.Uint64(b[4:]),
		name:     string(b[12:]),
	}
	if h.rank >= MaxRanks || h.name == "" {
		return header{}, fmt.Errorf("%w: rank %d, name %q", errMessage, h.rank, h.name)
	}
	return h, nil
}

// send passes a file descriptor on. The caller keeps its own.
func send(conn *net.UnixConn, h header, file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	if err := raw.Control(func(fd uintptr) {
		_, _, sendErr = conn.WriteMsgUnix(h.encode(), unix.UnixRights(int(fd)), nil)
	}); err != nil {
		return err
	}
	return sendErr
}

// receive returns the next message and its file, which the caller closes.
// Whatever else came along is closed.
func receive(conn *net.UnixConn) (header, *os.File, error) {
	buf := make([]byte, maxMsgBytes+1)
	oob := make([]byte, unix.CmsgSpace(maxOOBFiles*bytesPerFile))
	n, oobn, flags, _, readErr := conn.ReadMsgUnix(buf, oob) // sets MSG_CMSG_CLOEXEC
	// A message without bytes reads like the end but can carry descriptors.
	fds, err := parseRights(oob[:oobn])
	var h header
	switch {
	case readErr != nil:
		err = readErr
	case err != nil:
	case flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0:
		err = fmt.Errorf("%w: truncated (flags %#x); is the limit on open files too low?", errMessage, flags)
	case len(fds) != 1:
		err = fmt.Errorf("%w: %d file descriptors instead of one", errMessage, len(fds))
	default:
		h, err = decodeHeader(buf[:n])
	}
	if err != nil {
		closeFDs(fds)
		return header{}, nil, err
	}
	return h, os.NewFile(uintptr(fds[0]), fmt.Sprintf("%s from rank %d", h.name, h.rank)), nil
}

// parseRights returns the descriptors in a control message, even when it is
// otherwise not to be understood.
func parseRights(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("%w: control message: %w", errMessage, err)
	}
	var fds []int
	for i := range messages {
		if more, rightsErr := unix.ParseUnixRights(&messages[i]); rightsErr != nil {
			err = fmt.Errorf("%w: control message: %w", errMessage, rightsErr)
		} else {
			fds = append(fds, more...)
		}
	}
	return fds, err
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // of a message that is refused anyway
	}
}
