package xid

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// line is how NVIDIA's driver logs an error of a GPU: "NVRM: Xid (PCI:0000:19:00): 79, ...".
var line = regexp.MustCompile(`NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)`)

// mostLog bounds what is read of the kernel's log at once, in bytes.
const mostLog = 8 << 20

// Event is an error of a GPU.
type Event struct {
	PCI  string // the GPU's address without the function, in small letters: "0000:19:00"
	Code uint64
}

// Log reads the kernel's log. A nil Log has no events.
type Log struct{ fd int }

// OpenLog opens the kernel's log at its begin, or at its end, so that only later errors are read. The caller closes it.
// An error says that this user may not read it, as in most containers.
func OpenLog(atEnd bool) (*Log, error) {
	return open("/dev/kmsg", atEnd)
}

func open(path string, atEnd bool) (*Log, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if atEnd {
		if _, err := syscall.Seek(fd, 0, io.SeekEnd); err != nil {
			return nil, errors.Join(err, syscall.Close(fd))
		}
	}
	return &Log{fd}, nil
}

// Close closes the log.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return syscall.Close(l.fd)
}

// Next returns the errors that were logged since the last call, in their order.
func (l *Log) Next() []Event {
	if l == nil {
		return nil
	}
	var text strings.Builder
	for record := make([]byte, 8<<10); text.Len() < mostLog; {
		n, err := syscall.Read(l.fd, record)
		if errors.Is(err, syscall.EPIPE) { // the record was overwritten meanwhile; the next read has the next one
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		text.Write(record[:n])
	}
	return parse(text.String())
}

func parse(log string) (all []Event) {
	for _, match := range line.FindAllStringSubmatch(log, -1) {
		if code, err := strconv.ParseUint(match[2], 10, 64); err == nil {
			all = append(all, Event{PCI: strings.ToLower(match[1]), Code: code})
		}
	}
	return all
}
