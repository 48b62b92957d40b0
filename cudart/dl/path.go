package dl

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Locate returns the file that holds f, as the kernel knows it: a library that
// the loader found has no other way to say where. It is empty where the file
// cannot be told.
func Locate(f Func) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		// 7f3c000-7f3d000 r-xp 00001000 fe:00 1234   /usr/lib/libc.so.6
		fields := strings.SplitN(lines.Text(), " ", 6)
		if len(fields) == 6 && holds(fields[0], uint64(f.addr)) {
			return strings.TrimLeft(fields[5], " ")
		}
	}
	return ""
}

// holds reports whether an address is within a range such as "7f3c000-7f3d000".
func holds(span string, addr uint64) bool {
	low, high, _ := strings.Cut(span, "-")
	from, err1 := strconv.ParseUint(low, 16, 64)
	to, err2 := strconv.ParseUint(high, 16, 64)
	return err1 == nil && err2 == nil && from <= addr && addr < to
}
