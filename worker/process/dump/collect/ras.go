package collect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/ras"
)

// DefaultRAS is where NCCL's RAS answers clients, unless NCCL_RAS_ADDR says otherwise.
const DefaultRAS = "localhost:28028"

const (
	// rasBound is how long RAS may take; NCCL itself is told to wait for its peers for less.
	rasBound   = 2 * time.Second
	rasTimeout = 1 // seconds, of TIMEOUT
	// mostRAS bounds the answer.
	mostRAS = 8 << 20
)

// addRAS adds what NCCL's RAS says about the whole job to the first rank that computes on a GPU. Jobs on one machine
// share the port, so that an answer that names none of the ranks' processes is another job's.
func (c *Collector) addRAS(ctx context.Context, ranks []dump.Rank) {
	var first *dump.Rank
	var pids []int
	for i := range ranks {
		if ranks[i].GPU == nil {
			continue
		}
		if first == nil {
			first = &ranks[i]
		}
		for _, p := range ranks[i].Processes {
			pids = append(pids, p.PID)
		}
	}
	if first == nil || c.RAS == "" {
		return
	}
	status, err := askRAS(ctx, c.RAS)
	if err == nil && !have(status, pids) {
		err = errors.New("what answers there belongs to another job; NCCL_RAS_ADDR gives each job an address of its own")
	}
	if err != nil {
		first.Missing = append(first.Missing, fmt.Sprintf("NCCL RAS at %s: %v", c.RAS, err))
		return
	}
	first.Communicators = status
}

// askRAS speaks the protocol of NCCL's client ncclras: lines of text, each with an answer of one line, and after the
// last the status until the end of the connection.
func askRAS(ctx context.Context, address string) ([]dump.Communicator, error) {
	ctx, cancel := context.WithTimeout(ctx, rasBound)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; NCCL 2.24 or newer has it, unless NCCL_RAS_ENABLE is 0", err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	answers := bufio.NewReader(io.LimitReader(conn, mostRAS))
	for _, step := range []struct{ request, answer string }{
		{"CLIENT PROTOCOL 2", "SERVER PROTOCOL "},
		{"TIMEOUT " + strconv.Itoa(rasTimeout), "OK"},
		{"SET FORMAT json", "OK"},
	} {
		if _, err := io.WriteString(conn, step.request+"\n"); err != nil {
			return nil, err
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("after %q: %w", step.request, err)
		}
		if !strings.HasPrefix(strings.ToUpper(answer), step.answer) {
			return nil, fmt.Errorf("it answers %q with %q: JSON needs a newer NCCL", step.request, strings.TrimSpace(answer))
		}
	}
	if _, err := io.WriteString(conn, "VERBOSE STATUS\n"); err != nil {
		return nil, err
	}
	return ras.Read(answers)
}

// have reports whether one of the communicators has a rank that is one of the processes.
func have(communicators []dump.Communicator, pids []int) bool {
	return slices.ContainsFunc(communicators, func(c dump.Communicator) bool {
		return slices.ContainsFunc(c.Ranks, func(r dump.CommunicatorRank) bool { return slices.Contains(pids, r.PID) })
	})
}
