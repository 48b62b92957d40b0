package sim

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryInfo is the machine's memory, in bytes.
type memoryInfo struct{ total, available int64 }

func machineMemory() (memoryInfo, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return memoryInfo{}, fmt.Errorf("asking for the machine's memory: %w", err)
	}
	defer f.Close()
	var info memoryInfo
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "MemTotal:":
			info.total = kib << 10
		case "MemAvailable:":
			info.available = kib << 10
		}
	}
	if info.total == 0 {
		return info, fmt.Errorf("asking for the machine's memory: /proc/meminfo does not say MemTotal")
	}
	return info, nil
}
