// Package porttest finds ports for tests.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Free returns a TCP port that nobody listens on. It is below those that Linux hands out to whoever asks for any port
// (ip_local_port_range, 32768 and up), so that no other test gets it meanwhile that way.
func Free() (int, error) {
	const first, end = 10_000, 32_000
	for range 100 {
		port := first + rand.IntN(end-first)
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("a hundred ports from %d to %d are all in use", first, end)
}
