package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"

	"gpurun/rendezvous"
	"gpurun/rendezvous/porttest"
	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/certtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits of tests that nothing should reach.
const patience = 20 * time.Second

const secret = "0123456789abcdef"

// job is what the nodes of a test have in common.
type job struct{ config Config }

// newJob makes one of so many nodes, on a port that no socket has.
func newJob(t *testing.T, count int) job {
	t.Helper()
	port, err := porttest.Free()
	if err != nil {
		t.Fatal(err)
	}
	return job{Config{
		Count: count, Addr: "127.0.0.1", Port: port, Token: secret,
		JoinTimeout: patience, Timeout: patience, Logger: zap.NewNop(),
	}}
}

// node is the configuration of one.
func (j job) node(rank int) Config {
	j.config.Rank = rank
	return j.config
}

// meetAll lets all nodes meet, with the same plan.
func (j job) meetAll(t *testing.T) []*Nodes {
	t.Helper()
	all := make([]*Nodes, j.config.Count)
	var g errgroup.Group
	for rank := range all {
		g.Go(func() (err error) {
			all[rank], err = Meet(t.Context(), j.node(rank), Plan{Workers: 2})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

func closeAll(t *testing.T, all ...*Nodes) {
	t.Helper()
	for _, n := range all {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

// conclude ends all nodes at the same time and returns what each found.
func conclude(t *testing.T, all []*Nodes, ends ...End) ([]Verdict, []error) {
	t.Helper()
	verdicts, errs := make([]Verdict, len(ends)), make([]error, len(ends))
	var wg sync.WaitGroup
	for i, e := range ends {
		wg.Go(func() { verdicts[i], errs[i] = all[i].Conclude(t.Context(), e) })
	}
	wg.Wait()
	return verdicts, errs
}

// The nodes find out where their ranks meet, and how the job ended.
func TestNodesMeetAndConclude(t *testing.T) {
	all := newJob(t, 3).meetAll(t)
	defer closeAll(t, all...)
	var ranks errgroup.Group
	for rank := range 6 {
		target, token := all[rank/2].Ranks()
		if token == secret {
			t.Error("the ranks' secret is the user's")
		}
		ranks.Go(func() error {
			g, err := rendezvous.Join(t.Context(), target, rendezvous.Member{Rank: rank, WorldSize: 6},
				rendezvous.Options{Token: token})
			if err != nil {
				return err
			}
			return errors.Join(g.Leave(t.Context()), g.Close())
		})
	}
	if err := ranks.Wait(); err != nil {
		t.Fatal(err)
	}
	verdicts, errs := conclude(t, all, End{What: "verified"}, End{What: "-"}, End{Code: 5, What: "rank 4 died"})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for node, v := range verdicts {
		if v.Code != 5 || v.Node != 2 || v.What != "rank 4 died" || !strings.HasPrefix(v.Name, "node 2 (") {
			t.Errorf("node %d: %+v", node, v)
		}
	}
}

// Node 0's certificate is for the name by which all call it, whatever the address
// that it serves at; and the ranks meet by TLS as well.
func TestNodesMeetByTLS(t *testing.T) {
	a := certtest.New(t)
	files := a.Node(nil, "localhost")
	files.ServerName = "localhost"
	tls, err := transport.LoadTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, 2)
	j.config.Addr, j.config.Token, j.config.TLS = "localhost", "", tls
	all := j.meetAll(t)
	defer closeAll(t, all...)
	var ranks errgroup.Group
	for rank := range 4 {
		target, token := all[rank/2].Ranks()
		ranks.Go(func() error {
			who := rendezvous.Member{Rank: rank, WorldSize: 4}
			if _, err := rendezvous.Join(t.Context(), target, who, rendezvous.Options{Token: token}); !errors.Is(err,
				transport.ErrTLS) {
				return fmt.Errorf("without a certificate: %w", err)
			}
			g, err := rendezvous.Join(t.Context(), target, who, rendezvous.Options{Token: token, TLS: tls})
			if err != nil {
				return err
			}
			return errors.Join(g.Leave(t.Context()), g.Close())
		})
	}
	if err := ranks.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, errs := conclude(t, all, End{}, End{}); errors.Join(errs...) != nil {
		t.Error(errs)
	}
}

// The ranks meet at the port after that of the nodes, where a firewall can expect
// them, or at another if that is taken.
func TestRanksMeetAtTheNextPort(t *testing.T) {
	j := newJob(t, 1)
	next := net.JoinHostPort(j.config.Addr, strconv.Itoa(j.config.Port+1))
	target := func() string {
		all := j.meetAll(t)
		defer closeAll(t, all...)
		target, _ := all[0].Ranks()
		return target
	}
	l, err := net.Listen("tcp4", next)
	if err != nil {
		t.Skipf("another program has the port: %v", err)
	}
	if got := target(); got == next {
		t.Errorf("the ranks meet at %s, which is taken", got)
	}
	l.Close()
	if got := target(); got != next {
		t.Errorf("the ranks meet at %s instead of %s", got, next)
	}
}

// Every other node may come before node 0.
func TestNodeZeroMayBeLate(t *testing.T) {
	j := newJob(t, 2)
	waiting := make(chan string, 10)
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zap.InfoLevel)
	early := j.node(1)
	early.Logger = zap.New(zapcore.RegisterHooks(core, func(e zapcore.Entry) error {
		waiting <- e.Message
		return nil
	}))
	var g errgroup.Group
	all := make([]*Nodes, 2)
	g.Go(func() (err error) {
		all[1], err = Meet(t.Context(), early, Plan{})
		return err
	})
	<-waiting
	g.Go(func() (err error) {
		all[0], err = Meet(t.Context(), j.node(0), Plan{Workers: 1})
		return err
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	closeAll(t, all...)
}

// refused meets as a node that node 0 does not want, and returns why.
func refused(t *testing.T, j job, c Config) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var zero sync.WaitGroup
	zero.Go(func() {
		n, err := Meet(ctx, j.node(0), Plan{})
		if err == nil {
			err = errors.Join(errors.New("node 0 met one that it should refuse"), n.Close())
			t.Error(err)
		}
	})
	defer zero.Wait()
	defer cancel()
	n, err := Meet(t.Context(), c, Plan{})
	if err == nil {
		closeAll(t, n)
		t.Fatal("it was not refused")
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("%q tells the token", err)
	}
	return err
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Config)
		is     error
		says   string
	}{
		"wrong token": {func(c *Config) { c.Token += "0" }, rendezvous.ErrToken, "give all nodes the same"},
		"no token":    {func(c *Config) { c.Token = "" }, rendezvous.ErrToken, "give all nodes the same"},
		"nnodes":      {func(c *Config) { c.Count = 4 }, nil, "expects 4, the rendezvous serves 3"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 3)
			c := j.node(1)
			tt.change(&c)
			err := refused(t, j, c)
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && !errors.As(err, new(*Disagreement)) {
				t.Errorf("%v is of another kind", err)
			}
		})
	}
}

func TestDuplicateNodeRank(t *testing.T) {
	j := newJob(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	for _, rank := range []int{0, 1, 1} {
		go func() {
			_, err := Meet(ctx, j.node(rank), Plan{})
			errs <- err
		}()
	}
	if err := <-errs; !errors.Is(err, rendezvous.ErrDuplicateRank) ||
		!strings.Contains(err.Error(), "--node-rank 1 is taken") {
		t.Errorf("got %v", err)
	}
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) && !errors.Is(err, rendezvous.ErrServerGone) &&
			!errors.As(err, new(*rendezvous.PeerLeft)) {
			t.Errorf("got %v", err)
		}
	}
}

// A node that does not reach node 0 reports the address that it tried.
func TestWaitingInVain(t *testing.T) {
	t.Parallel()
	for rank, want := range []string{
		"1 did not reach 127.0.0.1:%d within 200ms (--node-rank 1)", "node 1 found no node 0 at 127.0.0.1:%d within 200ms",
	} {
		c := newJob(t, 2).node(rank)
		c.JoinTimeout = 200 * time.Millisecond
		_, err := Meet(t.Context(), c, Plan{})
		if want := fmt.Sprintf(want, c.Port); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// All nodes report the reason why one node cannot take part.
func TestAllHearOfAProblem(t *testing.T) {
	j := newJob(t, 2)
	var wg sync.WaitGroup
	for rank, problem := range []string{"", "there is no GPU"} {
		wg.Go(func() {
			_, err := Meet(t.Context(), j.node(rank), Plan{Problem: problem})
			if !errors.As(err, new(*Unfit)) || !strings.HasPrefix(err.Error(), "node 1 (") ||
				!strings.HasSuffix(err.Error(), ") cannot take part: there is no GPU") {
				t.Errorf("node %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
}

// A node that goes without a word ends the others, which say which it was.
func TestLostNode(t *testing.T) {
	t.Parallel()
	for lost, want := range []string{"node 0 (", "node 1 ("} {
		all := newJob(t, 2).meetAll(t)
		left := all[1-lost]
		closeAll(t, all[lost])
		<-left.Context().Done()
		if err := left.Lost(); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("lost %v, want %s", err, want)
		}
		if _, err := left.Conclude(t.Context(), End{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("concluded with %v, want %s", err, want)
		}
		closeAll(t, left)
	}
}

// When node 0's agent dies, the rendezvous is gone: the other nodes report node 0 as gone.
func TestLostServer(t *testing.T) {
	all := newJob(t, 2).meetAll(t)
	defer closeAll(t, all...)
	if err := all[0].meeting.Close(); err != nil {
		t.Fatal(err)
	}
	<-all[1].Context().Done()
	if err := all[1].Lost(); !errors.Is(err, rendezvous.ErrServerGone) || !strings.HasPrefix(err.Error(), "node 0 (") {
		t.Errorf("lost %v", err)
	}
}

// A node that failed by itself knows its own failure without an answer from the other nodes.
func TestOwnFailureOutlivesALostNode(t *testing.T) {
	all := newJob(t, 2).meetAll(t)
	closeAll(t, all[1])
	mine := End{Code: 4, What: "rank 0 hung"}
	v, err := all[0].Conclude(t.Context(), mine)
	if err != nil || v.Node != 0 || v.Code != 4 || v.What != mine.What {
		t.Errorf("%+v, %v", v, err)
	}
	closeAll(t, all[0])
}

func TestReachable(t *testing.T) {
	addrs := func(texts ...string) (all []net.IPAddr) {
		for _, text := range texts {
			all = append(all, net.IPAddr{IP: net.ParseIP(text)})
		}
		return all
	}
	for _, tt := range []struct {
		addr string
		all  []net.IPAddr
		want string // empty: refused
	}{
		{"localhost", addrs("::1", "127.0.0.1"), "127.0.0.1"},
		{"127.0.0.1", addrs("127.0.0.1"), "127.0.0.1"},
		{"::1", addrs("::1"), "::1"},
		{"node0", addrs("192.0.2.7"), "192.0.2.7"},
		{"node0", addrs("2001:db8::7", "192.0.2.7"), "192.0.2.7"},
		{"node0", addrs("2001:db8::7"), "2001:db8::7"},
		{"node0", addrs("127.0.1.1"), ""},
	} {
		got, err := reachable(tt.addr, tt.all)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s at %v: %q, %v", tt.addr, tt.all, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "IP address") {
			t.Errorf("%v does not say what to do", err)
		}
	}
}

func TestJudge(t *testing.T) {
	names := []string{"node 0", "node 1", "node 2"}
	ok := End{What: "verified"}
	late := End{Code: 4, What: "late", After: 2 * time.Second}
	early := End{Code: 5, What: "early", After: time.Second}
	follows := End{Code: 6, What: "follows", Consequence: true}
	for _, tt := range []struct {
		ends []End
		want int
	}{
		{[]End{ok, ok, ok}, 0},
		{[]End{ok, late, early}, 2},
		{[]End{follows, late, ok}, 1},
		{[]End{late, ok, follows}, 0},
		{[]End{ok, follows, ok}, 1},
	} {
		want := Verdict{End: tt.ends[tt.want], Node: tt.want, Name: names[tt.want]}
		if diff := cmp.Diff(want, judge(tt.ends, names)); diff != "" {
			t.Error(diff)
		}
	}
}
