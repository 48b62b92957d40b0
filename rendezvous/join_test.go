package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"gpurun/rendezvous"
	"gpurun/rendezvous/transport"
	pb "gpurun/rendezvous/v1"
)

// dial connects to a TCP server without being a member.
func dial(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// silentMember joins and then never says anything again.
type silentMember struct {
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]
	done   chan error
}

// shout sends last words of so many bytes.
func (s *silentMember) shout(t *testing.T, bytes int) {
	t.Helper()
	leave := &pb.Leave{Failure: strings.Repeat("a", bytes)}
	err := s.stream.Send(&pb.SessionRequest{What: &pb.SessionRequest_Leave{Leave: leave}})
	if err != nil && !errors.Is(err, io.EOF) { // EOF: refused before all was sent
		t.Fatal(err)
	}
}

func (s *silentMember) close() {
	s.conn.Close()
	<-s.done
}

func joinSilently(t *testing.T, target string, rank, worldSize int) *silentMember {
	t.Helper()
	conn, err := rendezvous.Connect(target)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := pb.NewRendezvousClient(conn).Session(context.Background(), grpc.MaxCallSendMsgSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	join := &pb.Join{Member: &pb.Member{Rank: int32(rank), WorldSize: int32(worldSize), Host: "node0"}}
	if err := stream.Send(&pb.SessionRequest{What: &pb.SessionRequest_Join{Join: join}}); err != nil {
		t.Fatal(err)
	}
	s := &silentMember{conn: conn, stream: stream, done: make(chan error, 1)}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				s.done <- err
				return
			}
		}
	}()
	return s
}

func TestAssignedRanks(t *testing.T) {
	const n = 4
	srv := serve(t, rendezvous.ServerConfig{WorldSize: n})
	ranks := make([]int, n)
	err := onEach(n, func(i int) error {
		who := rendezvous.Member{Rank: rendezvous.AnyRank, LocalRank: i, Host: "node0", Device: []byte{byte(i)}}
		g, err := rendezvous.Join(testContext(t), srv.Target(), who, rendezvous.Options{})
		if err != nil {
			return err
		}
		ranks[i] = g.Rank()
		if got := g.Members()[i].Device; !slices.Equal(got, []byte{byte(i)}) {
			return fmt.Errorf("device %v", got)
		}
		return errors.Join(g.Leave(testContext(t)), g.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3}, ranks); diff != "" {
		t.Errorf("ranks by local rank (-want +got):\n%s", diff)
	}
}

// joinError joins and wants to be refused.
func joinError(t *testing.T, target string, who rendezvous.Member, options rendezvous.Options) error {
	t.Helper()
	g, err := rendezvous.Join(testContext(t), target, who, options)
	if err == nil {
		g.Close()
		t.Fatalf("%v joined", who)
	}
	return err
}

func TestRefusedJoins(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	tests := []struct {
		name string
		who  rendezvous.Member
		want error
		says []string
	}{
		{"world size", member(1, 3), rendezvous.ErrWorldSize, []string{"expects 3", "serves 2"}},
		{"rank", member(2, 2), rendezvous.ErrInvalid, []string{"rank 2", "0..1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := joinError(t, srv.Target(), tt.who, rendezvous.Options{})
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			for _, words := range tt.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
		})
	}
}

func TestDuplicateRank(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 3})
	errs := make(chan error, 2)
	var joins errgroup.Group
	for pid := range 2 {
		joins.Go(func() error {
			who := rendezvous.Member{Rank: 1, Host: "node0", PID: 11 + pid}
			g, err := rendezvous.Join(testContext(t), srv.Target(), who, rendezvous.Options{})
			if err == nil {
				return errors.Join(errors.New("joined"), g.Close())
			}
			errs <- err
			return nil
		})
	}
	refused := <-errs // whoever came second; the first one still waits
	if !errors.Is(refused, rendezvous.ErrDuplicateRank) ||
		!strings.Contains(refused.Error(), "pid 11") || !strings.Contains(refused.Error(), "pid 12") {
		t.Errorf("got %v, want both holders named", refused)
	}
	srv.Abort("enough")
	if err := joins.Wait(); err != nil {
		t.Error(err)
	}
}

func TestJoinNamesWhoIsMissing(t *testing.T) {
	t.Parallel()
	const n = 8
	srv := serve(t, rendezvous.ServerConfig{WorldSize: n, JoinTimeout: 300 * time.Millisecond})
	err := onEach(n, func(rank int) error {
		if rank == 2 || rank == 5 {
			return nil
		}
		_, err := rendezvous.Join(testContext(t), srv.Target(), member(rank, n), rendezvous.Options{})
		late := new(rendezvous.Straggler)
		if !errors.As(err, &late) || !strings.Contains(err.Error(), "waiting for ranks 2, 5 of 8") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestJoinAfterCompletion(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1})
	joinAll(t, srv.Target(), 1, rendezvous.Options{})
	if err := joinError(t, srv.Target(), member(0, 1), rendezvous.Options{}); !errors.Is(err, rendezvous.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestJoinWithoutServer(t *testing.T) {
	begin := time.Now()
	err := joinError(t, "unix-abstract:gpurun-test-nobody-listens", member(0, 1), rendezvous.Options{})
	if !errors.Is(err, rendezvous.ErrServerGone) || time.Since(begin) > soon {
		t.Errorf("after %v: %v, want ErrServerGone", time.Since(begin), err)
	}
}

// On TCP the server may come later, so that Join waits; its error says for what.
func TestJoinWaitsForServerOnTCP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(testContext(t))
	time.AfterFunc(200*time.Millisecond, cancel)
	_, err := rendezvous.Join(ctx, "127.0.0.1:1", member(0, 1), rendezvous.Options{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestJoinCanBeCanceled(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	ctx, cancel := context.WithCancelCause(testContext(t))
	interrupted := errors.New("interrupted")
	time.AfterFunc(50*time.Millisecond, func() { cancel(interrupted) })
	if _, err := rendezvous.Join(ctx, srv.Target(), member(0, 2), rendezvous.Options{}); !errors.Is(err, interrupted) {
		t.Errorf("got %v", err)
	}
}

func TestToken(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1, Listen: "127.0.0.1:0", Token: "secret"})
	for _, token := range []string{"", "wrong", "secret "} {
		err := joinError(t, srv.Target(), member(0, 1), rendezvous.Options{Token: token})
		if !errors.Is(err, rendezvous.ErrToken) {
			t.Errorf("token %q: got %v, want ErrToken", token, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q tells the token", err)
		}
	}
	_, err := pb.NewStoreClient(dial(t, srv.Target())).Get(testContext(t), &pb.GetRequest{Key: "k"})
	if err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a call without a token: %v", err)
	}
	groups := joinAll(t, srv.Target(), 1, rendezvous.Options{Token: "secret"})
	if err := groups[0].Barrier(testContext(t), "ready"); err != nil {
		t.Error(err)
	}
}

func TestNoListeningBeyondLoopbackWithoutToken(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		srv, err := rendezvous.Serve(rendezvous.ServerConfig{WorldSize: 1, Listen: address})
		if err == nil {
			srv.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "token") {
			t.Errorf("listening on %q: got %v", address, err)
		}
	}
}

func TestCallsNeedASessionKey(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1, Listen: "127.0.0.1:0"})
	conn, ctx := dial(t, srv.Target()), testContext(t)
	if _, err := pb.NewStoreClient(conn).Set(ctx, &pb.SetRequest{Key: "k"}); err == nil {
		t.Error("a caller without a session wrote to the store")
	}
	if _, err := pb.NewRendezvousClient(conn).Exchange(ctx, &pb.ExchangeRequest{Name: "n"}); err == nil {
		t.Error("a caller without a session took part in an exchange")
	}
}

func TestHealth(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1, Listen: "127.0.0.1:0", Token: "secret"})
	health := healthpb.NewHealthClient(dial(t, srv.Target()))
	for _, service := range []string{"", "gpurun.rendezvous.v1.Rendezvous", "gpurun.rendezvous.v1.Store"} {
		request := &healthpb.HealthCheckRequest{Service: service}
		response, err := health.Check(transport.WithToken(testContext(t), "secret"), request)
		if err != nil || response.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("service %q: %v, %v", service, response, err)
		}
		if _, err := health.Check(testContext(t), request); status.Code(err) != codes.Unauthenticated {
			t.Errorf("service %q, without the token: %v", service, err)
		}
	}
}
