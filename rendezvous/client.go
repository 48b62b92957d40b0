package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gpurun/rendezvous/membership"
	"gpurun/rendezvous/transport"
	pb "gpurun/rendezvous/v1"
)

// AnyRank as a joining member's rank lets the server choose one.
const AnyRank = membership.AnyRank

// Member is what a member tells about itself and learns about the others.
type Member = membership.Member

// The bounds of waits on the client's side.
const (
	DefaultCallTimeout = 2 * time.Minute
	answerGrace        = 2 * time.Second        // for an answer that says who is missing
	departureGrace     = 100 * time.Millisecond // for an answer that was on its way when a member departed
	leaveTimeout       = 5 * time.Second
)

// Options adjust a Join.
type Options struct {
	Token       string         // the job's, where the server wants one
	TLS         *transport.TLS // nil: plain text
	CallTimeout time.Duration  // of calls whose context has no deadline; 0: DefaultCallTimeout
	Logger      *zap.Logger    // nil: silent
}

func (o Options) withDefaults() Options {
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return o
}

// Group is a member's view of the complete group. It is safe for concurrent
// use, except that calls of one collective under one name must not overlap.
type Group struct {
	rank       int
	generation int
	members    []Member
	options    Options

	conn       *grpc.ClientConn
	api        pb.RendezvousClient
	store      *Store
	sessionKey string
	session    *clientSession

	mu        sync.Mutex
	sequences map[string]uint64 // uses of each collective's name
}

// Join enters the rendezvous at target and waits until the group is complete
// or ctx ends. Target is a server's Target. The caller closes the Group.
//
// Errors: ErrDuplicateRank, ErrWorldSize, ErrClosed (the group is complete
// already), ErrToken, *Straggler (which names the missing ranks), *PeerLeft (a
// member left while joining), *Aborted, ErrServerGone, [transport.ErrTLS].
func Join(ctx context.Context, target string, who Member, options Options) (*Group, error) {
	options = options.withDefaults()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	conn, err := connect(target, options.TLS, refuse)
	if err != nil {
		return nil, fmt.Errorf("joining the rendezvous at %s: %w", target, err)
	}
	g := &Group{
		options:   options,
		conn:      conn,
		api:       pb.NewRendezvousClient(conn),
		sequences: map[string]uint64{},
	}
	if err := g.join(ctx, who, waitsForServer(target)); err != nil {
		return nil, errors.Join(fmt.Errorf("joining the rendezvous at %s: %w", target, err), conn.Close())
	}
	g.store = &Store{group: g, api: pb.NewStoreClient(conn)}
	options.Logger.Debug("joined the rendezvous", zap.Int("rank", g.rank), zap.Int("world_size", g.WorldSize()))
	return g, nil
}

func connect(target string, tls *transport.TLS, refused func(error)) (*grpc.ClientConn, error) {
	address, creds := dialTarget(target, tls, refused)
	return transport.Connect(address, creds)
}

// join opens the session and takes over what the welcome says.
func (g *Group) join(ctx context.Context, who Member, waitForServer bool) error {
	ctx, cancel := g.bounded(ctx)
	defer cancel()
	session, welcome, err := openSession(ctx, g, who, waitForServer)
	if err != nil {
		return err
	}
	g.session = session
	g.sessionKey = welcome.GetSessionKey()
	g.rank = int(welcome.GetRank())
	g.generation = int(welcome.GetGeneration())
	for _, m := range welcome.GetMembers() {
		g.members = append(g.members, memberFromProto(m))
	}
	return nil
}

// bounded gives a context a deadline if it has none.
func (g *Group) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return g.WithTimeout(ctx, g.options.CallTimeout)
}

// WithTimeout is context.WithTimeout without the time in which this process is stopped, as by SIGSTOP.
func (g *Group) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if g.session == nil { // it is being opened
		return context.WithTimeout(ctx, d)
	}
	return g.session.awake.WithTimeout(ctx, d)
}

// Rank is this member's rank, in 0..WorldSize()-1.
func (g *Group) Rank() int { return g.rank }

// WorldSize is the number of members.
func (g *Group) WorldSize() int { return len(g.members) }

// Generation is the server's: it counts the restarts of the job.
func (g *Group) Generation() int { return g.generation }

// Members lists all members by rank. It must not be written to.
func (g *Group) Members() []Member { return g.members }

// Store is the group's key-value store.
func (g *Group) Store() *Store { return g.store }

// Context ends when the group does. Its cause, by context.Cause, is *PeerLeft,
// *Aborted, ErrServerGone, or ErrLeft after this member's own Leave or Close.
func (g *Group) Context() context.Context { return g.session.ctx }

// Leave ends the part of this member. The others continue, unless a collective waits
// for this member, now or later. Close is still necessary.
func (g *Group) Leave(ctx context.Context) error {
	return g.session.leave(ctx, "")
}

// Fail tells all other members that this one has failed and why: their groups
// end with *PeerLeft. Close is still necessary.
func (g *Group) Fail(ctx context.Context, reason error) error {
	return g.session.leave(ctx, reason.Error())
}

// Close releases the connection. Without a Leave before it, the other members
// see a departure. It can be called more than once.
func (g *Group) Close() error {
	g.session.close()
	if err := g.conn.Close(); status.Code(err) != codes.Canceled { // closed before
		return err
	}
	return nil
}
