package tcpstore

import (
	"bytes"
	"slices"
	"testing"

	"go.uber.org/zap"
	"pgregory.net/rapid"
)

// A reply is what the value was when it was asked for, however late it is
// sent and whatever has become of the value.
func TestRepliesUnderWayDoNotChange(t *testing.T) {
	limits, key := defaults(t), []byte("k")
	rapid.Check(t, func(t *rapid.T) {
		table := newTable(limits)
		var replies []outbox
		var wants []string
		expect := func(value []byte) {
			var out outbox
			out.blob(value)
			replies, wants = append(replies, out), append(wants, string(bytes.Join(out.parts, nil)))
		}
		for i := range rapid.IntRange(2, 20).Draw(t, "operations") {
			size := rapid.SampledFrom([]int{0, 1, copyBelow - 1, copyBelow, 3 * copyBelow}).Draw(t, "size")
			value := bytes.Repeat([]byte{byte(i)}, size)
			var err error
			switch rapid.SampledFrom([]string{"get", "set", "append", "cas"}).Draw(t, "operation") {
			case "get":
				expect(table.get(key))
			case "set":
				err = table.set(key, value)
			case "append":
				err = table.append(key, value)
			case "cas":
				var now []byte
				now, err = table.compareSet(key, bytes.Clone(table.get(key)), value)
				expect(now)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, reply := range replies {
				if string(bytes.Join(reply.parts, nil)) != wants[i] {
					t.Fatalf("reply %d has changed", i)
				}
			}
		}
	})
}

// What the store keeps is not where the next request is read to.
func TestRequestsAreNotKept(t *testing.T) {
	l, err := newLoop(defaults(t), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer l.end()
	long := string(bytes.Repeat([]byte("e"), copyBelow))
	receive := func(op operation, arguments ...any) *conn {
		b := encode(current, op, arguments...)
		c := &conn{loop: l, greeted: true, blocked: true} // so that nothing is sent
		if size, err := c.serveOne(b); err != nil || size != len(b) {
			t.Fatalf("operation %d: %d of %d bytes, %v", op, size, len(b), err)
		}
		clear(b)
		return c
	}
	receive(opSet, "set", "1")
	receive(opSet, "set", "2")
	receive(opMultiSet, 1, "multiset", "2")
	receive(opCompareSet, "compareset", "", "2")
	receive(opAppend, "append", "2")
	receive(opQueuePush, "queue", "2")
	receive(opAdd, "add", 2)
	for _, key := range []string{"set", "multiset", "compareset", "append", "add"} {
		if got := string(l.table.get([]byte(key))); got != "2" {
			t.Errorf("key %q: %q", key, got)
		}
	}
	if n, got := l.table.pop([]byte("queue")); n != 1 || string(got) != "2" {
		t.Errorf("a queue of %d: %q", n, got)
	}
	for what, c := range map[string]*conn{
		"missing key's expected": receive(opCompareSet, "missing", long, ""),
		"new key's":              receive(opCompareSet, "new", "", long),
	} {
		if got := string(slices.Concat(c.out.parts...)[8:]); got != long {
			t.Errorf("a %s value is answered with %.10q...", what, got)
		}
	}
	waiting, meeting := receive(opWait, 1, "wait"), receive(opBarrier, "barrier", 2)
	receive(opSet, "wait", "")
	receive(opBarrier, "barrier", 2)
	if waiting.waiting != nil || meeting.waiting != nil {
		t.Error("somebody still waits")
	}
}

// A short value in a long one's place takes no more than it is counted for.
func TestShortValuesTakeLittle(t *testing.T) {
	table, key := newTable(defaults(t)), []byte("k")
	for _, size := range []int{copyBelow - 1, 100, 1, 0} {
		if err := table.set(key, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if took := cap(table.get(key)); took > 2*size+perEntry {
			t.Errorf("%d bytes take %d", size, took)
		}
	}
}
