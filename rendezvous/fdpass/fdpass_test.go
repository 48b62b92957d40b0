package fdpass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"gpurun/rendezvous/membership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// relayed is a relay that runs, and its workers' ends.
type relayed struct {
	ends []*os.File
	done chan error // the relay's
	told chan error // of workers that it dropped
}

func newRelayed(t *testing.T, n int) *relayed {
	t.Helper()
	m := &relayed{ends: make([]*os.File, n), done: make(chan error, 1), told: make(chan error, n)}
	relay := NewRelay()
	relay.Failed = func(err error) { m.told <- err }
	for rank := range n {
		agent, worker, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		if err := relay.Add(rank, agent); err != nil {
			t.Fatal(err)
		}
		m.ends[rank] = worker
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	go func() { m.done <- relay.Run(ctx) }()
	return m
}

func (m *relayed) open(t *testing.T, rank int) *Peer {
	t.Helper()
	p, err := Open(m.ends[rank], rank, len(m.ends))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// memfd is a file without a name that holds text.
func memfd(t *testing.T, text string) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f
}

func read(f *os.File) (string, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	return string(b), err
}

// openFDs counts this process's file descriptors.
func openFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// wantNoLeak fails the test when it leaves file descriptors open. The first
// use of the poller opens two that stay.
func wantNoLeak(t *testing.T) {
	t.Helper()
	agent, worker, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{agent, worker} {
		conn, err := unixConn(f)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	before := openFDs(t)
	t.Cleanup(func() {
		if after := openFDs(t); after != before {
			t.Errorf("%d file descriptors before the test, %d after it", before, after)
		}
	})
}

func TestAllGather(t *testing.T) {
	wantNoLeak(t)
	const n, passes = 5, 3
	m := newRelayed(t, n)
	var workers errgroup.Group
	for rank := range n {
		p := m.open(t, rank)
		mine := memfd(t, fmt.Sprint("memory of ", rank))
		workers.Go(func() error {
			defer p.Close()
			defer mine.Close()
			for range passes {
				for _, name := range []string{"heap", "signals"} {
					if err := gatherAndCheck(p, name, mine); err != nil {
						return fmt.Errorf("rank %d: %w", p.rank, err)
					}
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		t.Error(err)
	}
	if err := <-m.done; err != nil {
		t.Errorf("relay: %v", err)
	}
}

func gatherAndCheck(p *Peer, name string, mine *os.File) error {
	files, err := p.AllGather(context.Background(), name, mine)
	if err != nil {
		return err
	}
	for peer, f := range files {
		if peer == p.rank {
			if f != nil {
				return errors.New("own entry is not nil")
			}
			continue
		}
		text, err := read(f)
		if want := fmt.Sprint("memory of ", peer); err != nil || text != want {
			return fmt.Errorf("from rank %d: got %q, %w, want %q", peer, text, err, want)
		}
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			return fmt.Errorf("from rank %d: flags %d, %w: would leak into a child", peer, flags, err)
		}
		f.Close()
	}
	return nil
}

func TestMissingRankIsNamed(t *testing.T) {
	wantNoLeak(t)
	m := newRelayed(t, 4)
	p0, p1 := m.open(t, 0), m.open(t, 1)
	mine := memfd(t, "x")
	defer mine.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	var both errgroup.Group
	both.Go(func() error { return wantStraggler(p0.AllGather(ctx, "heap", mine)) })
	both.Go(func() error { return wantStraggler(p1.AllGather(ctx, "heap", mine)) })
	if err := both.Wait(); err != nil {
		t.Error(err)
	}
	for _, c := range []io.Closer{p0, p1, m.ends[2], m.ends[3]} {
		c.Close()
	}
	if err := <-m.done; err != nil {
		t.Errorf("relay: %v", err)
	}
}

func wantStraggler(_ []*os.File, err error) error {
	late := new(membership.Straggler)
	if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("got %w, want a Straggler", err)
	}
	if diff := cmp.Diff([]int{2, 3}, late.Missing); diff != "" {
		return fmt.Errorf("missing (-want +got):\n%s", diff)
	}
	return nil
}

func TestCanceledContextEndsTheWait(t *testing.T) {
	wantNoLeak(t)
	m := newRelayed(t, 2)
	p := m.open(t, 0)
	mine := memfd(t, "x")
	defer mine.Close()

	ctx, cancel := context.WithCancelCause(context.Background())
	left := &membership.PeerLeft{Rank: 1, Reason: "connection lost"}
	cancel(left)
	if _, err := p.AllGather(ctx, "heap", mine); !errors.Is(err, left) {
		t.Errorf("got %v, want %v", err, left)
	}
	p.Close()
	m.ends[1].Close()
	<-m.done
}

// connect returns the worker's end of a pair as a raw connection.
func (m *relayed) connect(t *testing.T, rank int) *net.UnixConn {
	t.Helper()
	conn, err := unixConn(m.ends[rank])
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestGarbageNamesItsSender(t *testing.T) {
	valid := header{rank: 1, name: "heap"}.encode()
	tests := []struct {
		name  string
		bytes []byte
		files int
		want  string
	}{
		{"no descriptor", valid, 0, "0 file descriptors"},
		{"two descriptors", valid, 2, "2 file descriptors"},
		{"too many descriptors", valid, 20, "truncated"},
		{"not the protocol", []byte("GET / HTTP/1.1\r\n\r\n"), 1, "not of this protocol"},
		{"too long", append(valid, make([]byte, 4096)...), 1, "truncated"},
		{"someone else's rank", header{rank: 0, name: "heap"}.encode(), 1, "calls itself rank 0"},
		{"no name", header{rank: 1}.encode(), 1, "name \"\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantNoLeak(t)
			m := newRelayed(t, 3)
			bad := m.connect(t, 1)
			defer bad.Close()
			file := memfd(t, "x")
			defer file.Close()
			fds := make([]int, tt.files)
			for i := range fds {
				fds[i] = int(file.Fd())
			}
			if _, _, err := bad.WriteMsgUnix(tt.bytes, unix.UnixRights(fds...), nil); err != nil {
				t.Fatal(err)
			}
			// The relay drops rank 1 and says so, while the others are there.
			told := <-m.told
			m.ends[0].Close()
			m.ends[2].Close()
			err := <-m.done
			if err == nil || !strings.Contains(err.Error(), "rank 1") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("relay ended with %v, want rank 1 and %q", err, tt.want)
			}
			if !errors.Is(err, told) {
				t.Errorf("relay told of %v and ended with %v", told, err)
			}
		})
	}
}

func TestEmptyMessageWithDescriptorLeaksNothing(t *testing.T) {
	wantNoLeak(t)
	m := newRelayed(t, 1)
	bad := m.connect(t, 0)
	file := memfd(t, "x")
	if err := sendEmpty(bad, file); err != nil {
		t.Fatal(err)
	}
	file.Close()
	<-m.done
	bad.Close()
}

// sendEmpty sends a descriptor with no bytes, which the net package would not.
func sendEmpty(conn *net.UnixConn, file *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), nil, unix.UnixRights(int(file.Fd())), nil, 0)
		return true
	})
	return errors.Join(err, sendErr)
}

func TestPeerRefusesImpossibleMessages(t *testing.T) {
	tests := []struct {
		name    string
		headers []header
		want    string
	}{
		{"its own rank", []header{{rank: 0, name: "heap"}}, "claims to come from rank 0"},
		{"beyond the world", []header{{rank: 2, name: "heap"}}, "claims to come from rank 2"},
		{"twice", []header{{rank: 1, name: "b"}, {rank: 1, name: "b"}}, `rank 1 sent "b" number 0 again`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantNoLeak(t)
			agent, worker, err := Pair()
			if err != nil {
				t.Fatal(err)
			}
			conn, err := unixConn(agent)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			p, err := Open(worker, 0, 2)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			mine := memfd(t, "x")
			defer mine.Close()
			for _, h := range tt.headers {
				if err := send(conn, h, mine); err != nil {
					t.Fatal(err)
				}
			}
			_, err = p.AllGather(context.Background(), "heap", mine)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A worker that reads nothing must neither stop the others nor go unnamed.
func TestDeafWorkerIsDropped(t *testing.T) {
	wantNoLeak(t)
	m := newRelayed(t, 3)
	deaf := m.connect(t, 2)
	defer deaf.Close()

	var workers errgroup.Group
	for rank := range 2 {
		p, err := Open(m.ends[rank], rank, 2) // does not wait for rank 2
		if err != nil {
			t.Fatal(err)
		}
		mine := memfd(t, fmt.Sprint("memory of ", rank))
		workers.Go(func() error {
			defer p.Close()
			defer mine.Close()
			for range maxQueued { // twice as much as is queued for rank 2
				if err := gatherAndCheck(p, "heap", mine); err != nil {
					return fmt.Errorf("rank %d: %w", rank, err)
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		t.Error(err)
	}
	if err := <-m.done; err == nil || !strings.Contains(err.Error(), "rank 2: does not read") {
		t.Errorf("relay ended with %v", err)
	}
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add(header{rank: 3, sequence: 1 << 40, name: "heap"}.encode())
	f.Add([]byte(magic))
	f.Add(make([]byte, maxMsgBytes+1))
	f.Add([]byte("gpfd\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeader(b)
		if err != nil {
			if !errors.Is(err, errMessage) {
				t.Fatalf("%v is not errMessage", err)
			}
			return
		}
		if diff := cmp.Diff(string(b), string(h.encode())); diff != "" {
			t.Fatalf("does not encode to what was decoded (-want +got):\n%s", diff)
		}
	})
}
