package rendezvous_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"gpurun/rendezvous"
)

func TestStore(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	mine, theirs := groups[0].Store(), groups[1].Store()
	ctx := testContext(t)

	if _, err := mine.Get(ctx, "k"); !errors.Is(err, rendezvous.ErrKeyNotFound) {
		t.Errorf("get before set: %v", err)
	}
	var waits errgroup.Group
	waits.Go(func() error { return theirs.Wait(ctx, "k", "n") })
	if err := mine.Set(ctx, "k", []byte("v")); err != nil {
		t.Error(err)
	}
	if n, err := mine.Add(ctx, "n", 41); err != nil || n != 41 {
		t.Errorf("add: %d, %v", n, err)
	}
	if err := waits.Wait(); err != nil {
		t.Error(err)
	}
	if v, err := theirs.Get(ctx, "k"); err != nil || string(v) != "v" {
		t.Errorf("get: %q, %v", v, err)
	}
	if n, err := theirs.Add(ctx, "n", 1); err != nil || n != 42 {
		t.Errorf("add: %d, %v", n, err)
	}
	if _, err := mine.Add(ctx, "k", 1); !errors.Is(err, rendezvous.ErrNotANumber) {
		t.Errorf("add to text: %v", err)
	}
	if existed, err := mine.Delete(ctx, "n"); err != nil || !existed {
		t.Errorf("delete: %v, %v", existed, err)
	}
	if err := mine.Set(ctx, "", nil); !errors.Is(err, rendezvous.ErrInvalid) {
		t.Errorf("empty key: %v", err)
	}
}

func TestStoreCompareAndSet(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1})
	store := joinAll(t, srv.Target(), 1, rendezvous.Options{})[0].Store()
	steps := []struct {
		expected, desired []byte
		current           []byte
		swapped           bool
	}{
		{[]byte("a"), []byte("b"), nil, false}, // there is no such key
		{nil, []byte{}, []byte{}, true},
		{nil, []byte("b"), []byte{}, false}, // an empty value is a value
		{[]byte{}, []byte("b"), []byte("b"), true},
		{[]byte("a"), []byte("c"), []byte("b"), false},
	}
	for i, s := range steps {
		current, swapped, err := store.CompareAndSet(testContext(t), "k", s.expected, s.desired)
		if err != nil || swapped != s.swapped {
			t.Errorf("step %d: swapped %v, %v", i, swapped, err)
		}
		if diff := cmp.Diff(s.current, current); diff != "" {
			t.Errorf("step %d: current (-want +got):\n%s", i, diff)
		}
	}
}

func TestStoreWaitNamesKeys(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1})
	store := joinAll(t, srv.Target(), 1, rendezvous.Options{})[0].Store()
	if err := store.Set(testContext(t), "here", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(testContext(t), 100*time.Millisecond)
	defer cancel()
	err := store.Wait(ctx, "here", "not", "nor")
	missing := new(rendezvous.MissingKeys)
	if !errors.As(err, &missing) {
		t.Fatalf("got %v, want MissingKeys", err)
	}
	if diff := cmp.Diff(&rendezvous.MissingKeys{Keys: []string{"nor", "not"}, Count: 2}, missing); diff != "" {
		t.Errorf("missing keys (-want +got):\n%s", diff)
	}
}
