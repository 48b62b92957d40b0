package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestValuesAreCopied(t *testing.T) {
	s := New()
	value := []byte("before")
	if err := s.Set("k", value); err != nil {
		t.Fatal(err)
	}
	copy(value, "after!")
	if got, err := s.Get("k"); err != nil || string(got) != "before" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAdd(t *testing.T) {
	tests := []struct {
		name   string
		before string // empty: no such key
		delta  int64
		want   int64
		err    error
	}{
		{"new key", "", 5, 5, nil},
		{"number", "40", 2, 42, nil},
		{"down", "-1", -1, -2, nil},
		{"by nothing", "7", 0, 7, nil},
		{"text", "seven", 1, 0, ErrNotANumber},
		{"over the top", fmt.Sprint(math.MaxInt64), 1, 0, ErrInvalid},
		{"below the bottom", fmt.Sprint(math.MinInt64), -1, 0, ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New()
			if tt.before != "" {
				if err := s.Set("k", []byte(tt.before)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Add("k", tt.delta)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %d, %v, want %d, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestAddIsAtomic(t *testing.T) {
	s := New()
	var adders errgroup.Group
	for range 8 {
		adders.Go(func() error {
			for range 100 {
				if _, err := s.Add("n", 1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := adders.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get("n"); err != nil || string(got) != "800" {
		t.Errorf("got %q, %v, want 800", got, err)
	}
}

func TestWaitersWakeWhenTheLastKeyCame(t *testing.T) {
	s := New()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var waiters errgroup.Group
	for i := range 4 {
		waiters.Go(func() error { return s.Wait(ctx, []string{"a", fmt.Sprint(i)}) })
	}
	for _, key := range []string{"0", "1", "2", "a"} {
		if err := s.Set(key, nil); err != nil {
			t.Fatal(err)
		}
	}
	// A key that has been there counts, even if it is gone before the others come.
	w := s.watch([]string{"a", "later"})
	s.Delete("a")
	if err := s.Set("later", nil); err != nil {
		t.Fatal(err)
	}
	<-w.done
	if err := s.Set("a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add("3", 1); err != nil {
		t.Fatal(err)
	}
	if err := waiters.Wait(); err != nil {
		t.Error(err)
	}
	if len(s.waiters) != 0 {
		t.Errorf("waiters remain for %d keys", len(s.waiters))
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	s := New()
	if err := s.Set("here", nil); err != nil {
		t.Fatal(err)
	}
	keys := []string{"here"}
	for i := range 10 {
		keys = append(keys, fmt.Sprint("key", i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := s.Wait(ctx, keys)
	want := `waiting for keys "key0", "key1", "key2", "key3", "key4", "key5", "key6", "key7" and 2 more`
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	cause := errors.New("interrupted")
	canceled, cancelCause := context.WithCancelCause(context.Background())
	cancelCause(cause)
	if err := s.Wait(canceled, keys); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if len(s.waiters) != 0 {
		t.Errorf("waiters remain for %d keys", len(s.waiters))
	}
}

func TestBounds(t *testing.T) {
	s := New()
	if err := s.Set(strings.Repeat("k", MaxKeyBytes+1), nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("long key: %v", err)
	}
	if err := s.Set("k", make([]byte, MaxValueBytes+1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("long value: %v", err)
	}
	if err := s.Wait(context.Background(), make([]string, MaxWaitKeys+1)); !errors.Is(err, ErrLimit) {
		t.Errorf("many keys to wait for: %v", err)
	}
	for i := range MaxKeys {
		if err := s.Set(fmt.Sprint(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set("one more", nil); !errors.Is(err, ErrLimit) {
		t.Errorf("many keys: %v", err)
	}
	if err := s.Set("0", []byte("x")); err != nil {
		t.Errorf("a key that exists: %v", err)
	}
}

func TestTotalBytesAreBounded(t *testing.T) {
	s := New()
	value := make([]byte, MaxValueBytes)
	n := 0
	for n <= MaxTotalBytes/MaxValueBytes && s.Set(fmt.Sprint(n), value) == nil {
		n++
	}
	if n != MaxTotalBytes/MaxValueBytes-1 { // the keys take a little of it
		t.Errorf("%d values of %d bytes went in", n, MaxValueBytes)
	}
	s.Delete("0")
	if err := s.Set("again", value); err != nil {
		t.Errorf("after a delete: %v", err)
	}
}

// FuzzStore: a sequence of operations, compared with a plain map.
func FuzzStore(f *testing.F) {
	f.Add([]byte("s1g1d1g1"))
	f.Add([]byte("a1a1c1c2s2"))
	f.Fuzz(func(t *testing.T, script []byte) {
		s, model := New(), map[string][]byte{}
		for i := 0; i+1 < len(script); i += 2 {
			key := string(script[i+1 : i+2])
			switch script[i] % 4 {
			case 0:
				if s.Set(key, script[:i]) == nil && i <= MaxValueBytes {
					model[key] = append([]byte{}, script[:i]...)
				}
			case 1:
				_, had := model[key]
				delete(model, key)
				if s.Delete(key) != had {
					t.Fatalf("delete %q: existed, or not", key)
				}
			case 2:
				if _, swapped, err := s.CompareAndSet(key, model[key], []byte("5")); !swapped || err != nil {
					t.Fatalf("compare and set %q: %v, %v", key, swapped, err)
				}
				model[key] = []byte("5")
			case 3:
				if sum, err := s.Add(key, 1); err == nil {
					model[key] = fmt.Append(nil, sum)
				}
			}
		}
		total := 0
		for key, want := range model {
			total += len(key) + len(want)
			if got, err := s.Get(key); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("key %q: %q, %v, want %q", key, got, err, want)
			}
		}
		if diff := cmp.Diff([]int{len(model), total}, []int{len(s.values), s.bytes}); diff != "" {
			t.Fatalf("keys and bytes (-want +got):\n%s", diff)
		}
	})
}
