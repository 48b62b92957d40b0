package tcpstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-17", -17, true},
		{"+17", 17, true},
		{" \t\n5", 5, true},
		{"12 apples", 12, true},
		{"9223372036854775807", 1<<63 - 1, true},
		{"9223372036854775808", 0, false},
		{"", 0, false},
		{"-", 0, false},
		{"apples 12", 0, false},
		{"0x10", 0, true},
		{"1_000", 1, true},
	} {
		got, err := parseNumber([]byte(tt.text))
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: %d, %v", tt.text, got, err)
		}
	}
}

func TestAddDoesNotOverflow(t *testing.T) {
	table := newTable(defaults(t))
	for _, delta := range []int64{1<<63 - 1, 1} {
		if _, err := table.add([]byte("k"), delta); (err == nil) != (delta > 1) || delta == 1 && !errors.Is(err, errLimit) {
			t.Errorf("adding %d: %v", delta, err)
		}
	}
}

// A push wakes one waiter, the oldest.
func TestPushWakesOne(t *testing.T) {
	table := newTable(defaults(t))
	var waiters []*waiter
	for range 3 {
		w, err := table.wait(blobs("q"))
		if err != nil {
			t.Fatal(err)
		}
		waiters = append(waiters, w)
	}
	table.giveUp(waiters[0])
	if err := table.push([]byte("q"), nil); err != nil {
		t.Fatal(err)
	}
	var woken []bool
	for _, w := range waiters {
		woken = append(woken, isDone(w))
	}
	if diff := cmp.Diff([]bool{false, true, false}, woken); diff != "" {
		t.Errorf("who was woken (-want +got):\n%s", diff)
	}
}

func isDone(w *waiter) bool { return w.left == 0 }

func TestAppendIsBounded(t *testing.T) {
	limits := defaults(t)
	limits.ValueBytes = 10
	table := newTable(limits)
	for i, want := range []error{nil, nil, errLimit} {
		if err := table.append([]byte("k"), []byte("12345")); !errors.Is(err, want) {
			t.Errorf("append %d: %v", i, err)
		}
	}
}

// What was read stays as it was when the key changes afterwards.
func TestValuesReadDoNotChange(t *testing.T) {
	table := newTable(defaults(t))
	for _, more := range []string{"a", "b", "c", "d"} {
		before := table.get([]byte("k"))
		text := string(before)
		if err := table.append([]byte("k"), []byte(more)); err != nil {
			t.Fatal(err)
		}
		if string(before) != text {
			t.Errorf("%q became %q", text, before)
		}
	}
}

// TestTableAgainstAModel compares the table with plain maps, and waits with a
// set of keys each, over random sequences of operations.
func TestTableAgainstAModel(t *testing.T) {
	limits := defaults(t)
	rapid.Check(t, func(t *rapid.T) {
		table, m := newTable(limits), model{values: map[string]string{}, queues: map[string][]string{}}
		keys := rapid.SampledFrom([]string{"", "a", "b", "c"})
		for range rapid.IntRange(1, 60).Draw(t, "operations") {
			step(t, table, &m, keys)
			m.compare(t, table)
		}
		for _, w := range m.waits {
			table.giveUp(w.waiter)
		}
		if len(table.waiters) != 0 {
			t.Fatalf("waits for %d keys are left", len(table.waiters))
		}
		for _, key := range []string{"", "a", "b", "c"} {
			table.remove([]byte(key))
			for table.queueLen([]byte(key)) > 0 {
				table.pop([]byte(key))
			}
		}
		if table.bytes != 0 {
			t.Fatalf("%d bytes are counted in an empty table", table.bytes)
		}
	})
}

type model struct {
	values map[string]string
	queues map[string][]string
	waits  []modelWait // oldest first
}

type modelWait struct {
	waiter  *waiter
	missing map[string]bool
}

// came tells all waiters, or those up to the first that then waits for no key.
func (m *model) came(key string, one bool) {
	for _, w := range m.waits {
		if !w.missing[key] {
			continue
		}
		delete(w.missing, key)
		if one && len(w.missing) == 0 {
			return
		}
	}
}

func (m *model) has(key string) bool {
	_, ok := m.values[key]
	return ok || len(m.queues[key]) > 0
}

func (m *model) compare(t *rapid.T, table *table) {
	if table.len() != len(m.values) || len(table.keys()) != len(m.values) {
		t.Fatalf("%d keys, want %d", table.len(), len(m.values))
	}
	for key, want := range m.values {
		if got := table.get([]byte(key)); string(got) != want {
			t.Fatalf("key %q: %q, want %q", key, got, want)
		}
	}
	for i, w := range m.waits {
		if isDone(w.waiter) != (len(w.missing) == 0) {
			t.Fatalf("wait %d: done is %v, missing %v", i, isDone(w.waiter), w.missing)
		}
	}
}

func step(t *rapid.T, table *table, m *model, keys *rapid.Generator[string]) {
	key := keys.Draw(t, "key")
	value := rapid.SampledFrom([]string{"", "1", "x"}).Draw(t, "value")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	switch rapid.SampledFrom([]string{"set", "add", "cas", "append", "remove", "push", "pop", "wait"}).Draw(t,
		"operation") {
	case "set":
		must(table.set([]byte(key), []byte(value)))
		m.values[key] = value
		m.came(key, false)
	case "add":
		stepAdd(t, table, m, key)
	case "cas":
		old, exists := m.values[key]
		expected := rapid.SampledFrom([]string{"", "1", "x"}).Draw(t, "expected")
		want := old
		switch {
		case exists && old == expected, !exists && expected == "":
			want, m.values[key] = value, value
			m.came(key, false)
		case !exists:
			want = expected
		}
		got, err := table.compareSet([]byte(key), []byte(expected), []byte(value))
		must(err)
		if string(got) != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case "append":
		must(table.append([]byte(key), []byte(value)))
		m.values[key] += value
		m.came(key, false)
	case "remove":
		_, exists := m.values[key]
		delete(m.values, key)
		if (table.remove([]byte(key)) == 1) != exists {
			t.Fatalf("removed: %v", !exists)
		}
	case "push":
		must(table.push([]byte(key), []byte(value)))
		m.queues[key] = append(m.queues[key], value)
		m.came(key, true)
	case "pop":
		length, got := table.pop([]byte(key))
		queue := m.queues[key]
		if length != len(queue) || length > 0 && string(got) != queue[0] {
			t.Fatalf("%d, %q of %q", length, got, queue)
		}
		m.queues[key] = queue[min(1, length):]
	case "wait":
		stepWait(t, table, m, []string{key, keys.Draw(t, "other")})
	}
}

func stepAdd(t *rapid.T, table *table, m *model, key string) {
	old, exists := m.values[key]
	var n int64
	if exists {
		if _, err := fmt.Sscanf(old, "%d", &n); err != nil {
			if _, err := table.add([]byte(key), 1); err == nil {
				t.Fatalf("added to %q", old)
			}
			return
		}
	}
	sum, err := table.add([]byte(key), 1)
	if err != nil && len(old) < 18 || err == nil && sum != n+1 {
		t.Fatalf("%q plus 1 is %d, %v", old, sum, err)
	}
	if err == nil {
		m.values[key] = fmt.Sprint(sum)
		m.came(key, false)
	}
}

func stepWait(t *rapid.T, table *table, m *model, keys []string) {
	missing := map[string]bool{}
	for _, key := range keys {
		if !m.has(key) {
			missing[key] = true
		}
	}
	if table.check(blobs(keys...)) != (len(missing) == 0) {
		t.Fatalf("check: missing %v", missing)
	}
	w, err := table.wait(blobs(keys...))
	if err != nil {
		t.Fatal(err)
	}
	if (w == nil) != (len(missing) == 0) {
		t.Fatalf("wait: missing %v", missing)
	}
	if w != nil {
		m.waits = append(m.waits, modelWait{w, missing})
	}
}

func blobs(keys ...string) [][]byte {
	var blobs [][]byte
	for _, key := range keys {
		blobs = append(blobs, []byte(key))
	}
	return blobs
}
