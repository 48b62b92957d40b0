package tcpstore

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A reply is what the value was when it was asked for, however late it is
// sent and whatever has become of the value.
func TestRepliesUnderWayDoNotChange(t *testing.T) {
	limits, key := defaults(t), []byte("k")
	rapid.Check(t, func(t *rapid.T) {
		table := newTable(limits)
		var replies []reply
		var wants []string
		expect := func(value []byte) {
			var out reply
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

// The table keeps no part of the buffer that a request was received in.
func TestRequestsAreNotKept(t *testing.T) {
	table := newTable(defaults(t))
	long := string(bytes.Repeat([]byte("e"), copyBelow))
	receive := func(op operation, arguments ...any) (reply, *waiter) {
		var out reply
		b := encode(current, op, arguments...)
		w, err := table.answer(newRequest(op, b), &out)
		if err != nil {
			t.Fatalf("operation %d: %v", op, err)
		}
		clear(b)
		return out, w
	}
	receive(opSet, "set", "1")
	receive(opSet, "set", "2")
	receive(opMultiSet, 1, "multiset", "2")
	receive(opCompareSet, "compareset", "", "2")
	receive(opAppend, "append", "2")
	receive(opQueuePush, "queue", "2")
	receive(opAdd, "add", 2)
	for _, key := range []string{"set", "multiset", "compareset", "append", "add"} {
		if got := string(table.get([]byte(key))); got != "2" {
			t.Errorf("key %q: %q", key, got)
		}
	}
	if n, got := table.pop([]byte("queue")); n != 1 || string(got) != "2" {
		t.Errorf("a queue of %d: %q", n, got)
	}
	missing, _ := receive(opCompareSet, "missing", long, "")
	added, _ := receive(opCompareSet, "new", "", long)
	for what, out := range map[string]reply{"missing key's expected": missing, "new key's": added} {
		if got := string(slices.Concat(out.parts...)[8:]); got != long {
			t.Errorf("a %s value is answered with %.10q...", what, got)
		}
	}
	_, waiting := receive(opWait, 1, "wait")
	_, meeting := receive(opBarrier, "barrier", 2)
	receive(opSet, "wait", "")
	receive(opBarrier, "barrier", 2)
	if !isDone(waiting) || !isDone(meeting) {
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
