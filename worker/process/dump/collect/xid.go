package collect

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// xidLine is how NVIDIA's driver logs a critical error of a GPU: "NVRM: Xid (PCI:0000:19:00): 79, ...".
const xidLine = `NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)`

// mostLog bounds what is read of the kernel's log.
const mostLog = 8 << 20

// Xids returns the last critical error of each GPU, by its PCI address without the function, from the kernel's log. The
// map is empty where this user may not read that.
func Xids() map[string]uint64 {
	fd, err := syscall.Open("/dev/kmsg", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	var text strings.Builder
	for record := make([]byte, 8<<10); text.Len() < mostLog; {
		n, err := syscall.Read(fd, record)
		if errors.Is(err, syscall.EPIPE) { // the record was overwritten meanwhile; the next read has the next one
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		text.Write(record[:n])
	}
	return parseXids(text.String())
}

func parseXids(log string) map[string]uint64 {
	last := map[string]uint64{}
	for _, match := range regexp.MustCompile(xidLine).FindAllStringSubmatch(log, -1) {
		if xid, err := strconv.ParseUint(match[2], 10, 64); err == nil {
			last[strings.ToLower(match[1])] = xid
		}
	}
	return last
}
