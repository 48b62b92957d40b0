package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"gpurun/rendezvous"
)

// testTimeout bounds every wait of a test.
const testTimeout = 20 * time.Second

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	tb.Cleanup(cancel)
	return ctx
}

func serve(tb testing.TB, config rendezvous.ServerConfig) *rendezvous.Server {
	tb.Helper()
	srv, err := rendezvous.Serve(config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	return srv
}

// member describes a member as it joins.
func member(rank, worldSize int) rendezvous.Member {
	return rendezvous.Member{Rank: rank, LocalRank: rank, WorldSize: worldSize, Host: "node0", PID: 100 + rank}
}

// joinAll lets n members join and returns their groups by rank.
func joinAll(tb testing.TB, target string, n int, options rendezvous.Options) []*rendezvous.Group {
	tb.Helper()
	groups := make([]*rendezvous.Group, n)
	err := onEach(n, func(rank int) error {
		g, err := rendezvous.Join(testContext(tb), target, member(rank, n), options)
		groups[rank] = g
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, g := range groups {
		tb.Cleanup(func() {
			if err := g.Close(); err != nil {
				tb.Error(err)
			}
		})
	}
	return groups
}

// onEach runs do for all ranks at the same time.
func onEach(n int, do func(rank int) error) error {
	var all errgroup.Group
	for rank := range n {
		all.Go(func() error {
			if err := do(rank); err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			return nil
		})
	}
	return all.Wait()
}

func TestGroup(t *testing.T) {
	const n = 4
	srv := serve(t, rendezvous.ServerConfig{WorldSize: n, Generation: 7})
	groups := joinAll(t, srv.Target(), n, rendezvous.Options{})
	ctx := testContext(t)

	for rank, g := range groups {
		if g.Rank() != rank || g.WorldSize() != n || g.Generation() != 7 {
			t.Errorf("rank, world size, generation = %d, %d, %d, want %d, %d, 7", g.Rank(), g.WorldSize(), g.Generation(), rank,
				n)
		}
		want := []rendezvous.Member{member(0, n), member(1, n), member(2, n), member(3, n)}
		if diff := cmp.Diff(want, g.Members()); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	}

	for pass := range 3 {
		err := onEach(n, func(rank int) error {
			all, err := groups[rank].AllGather(ctx, "handles", fmt.Appendf(nil, "%d/%d", pass, rank))
			if err != nil {
				return err
			}
			for peer, got := range all {
				if want := fmt.Sprintf("%d/%d", pass, peer); string(got) != want {
					return fmt.Errorf("from rank %d: got %q, want %q", peer, got, want)
				}
			}
			uid, err := groups[rank].Broadcast(ctx, "uid", pass, fmt.Appendf(nil, "uid of %d", rank))
			if want := fmt.Sprintf("uid of %d", pass); err != nil || string(uid) != want {
				return fmt.Errorf("broadcast: got %q, %w, want %q", uid, err, want)
			}
			return groups[rank].Barrier(ctx, "ready")
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	for rank, g := range groups {
		if err := g.Leave(ctx); err != nil {
			t.Fatalf("rank %d: %v", rank, err)
		}
		if cause := context.Cause(g.Context()); !errors.Is(cause, rendezvous.ErrLeft) {
			t.Errorf("rank %d: group ended with %v", rank, cause)
		}
	}
}

// A context that ends with the group, as callers make one to stop all work then,
// does not make an orderly goodbye fail, even where both have ended before anyone
// looks.
func TestLeaveWithAContextThatEndsWithTheGroup(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1})
	g := joinAll(t, srv.Target(), 1, rendezvous.Options{})[0]
	ctx, cancel := context.WithCancelCause(testContext(t))
	defer cancel(nil)
	context.AfterFunc(g.Context(), func() { cancel(context.Cause(g.Context())) })
	for range 20 { // which of the two is seen first is chance
		if err := g.Leave(ctx); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
}
