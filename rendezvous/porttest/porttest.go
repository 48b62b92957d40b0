// Package porttest finds ports for tests. It opens none to see that it is free: a process that another test starts at
// that moment has it open until its exec, and the caller cannot open it again meanwhile.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// The ports are below those that Linux hands out to whoever asks for any port (ip_local_port_range, 32768 and up), so
// that no other test gets one that way.
const first, end = 10_000, 32_000

// Endpoint returns a loopback address at which no process listens, with its port: it is one of sixteen million.
func Endpoint() string {
	ip := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254)))
	return net.JoinHostPort(ip.String(), strconv.Itoa(first+rand.IntN(end-first)))
}

// Free returns a TCP port that no socket of this machine has.
func Free() (int, error) {
	for range 100 {
		port := first + rand.IntN(end-first)
		if used, err := inUse(port); err != nil || !used {
			return port, err
		}
	}
	return 0, fmt.Errorf("a hundred ports from %d to %d are all in use", first, end)
}

// inUse tells whether a socket has the port, by proc_net(5): a line has a number, and the local address in hexadecimal.
func inUse(port int) (bool, error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) { // a machine may have no IPv6
			return false, err
		}
		for line := range strings.Lines(string(table)) {
			if fields := strings.Fields(line); len(fields) > 1 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				return true, nil
			}
		}
	}
	return false, nil
}
