package tcpstore

import "container/list"

// waiter waits until each of its keys has been there once. A key that is
// deleted again still counts, as it does with PyTorch.
type waiter struct {
	missing []missing
	left    int           // how many of missing have not come; final when done is closed
	done    chan struct{} // closed when all have come, and when the wait is given up
}

type missing struct {
	key   string
	place *list.Element // nil once the key has come
}

// check says whether all keys are there. A queue is there unless it is empty.
func (t *table) check(keys [][]byte) bool {
	for _, key := range keys {
		if !t.has(key) {
			return false
		}
	}
	return true
}

// wait returns a waiter for the keys that are missing, nil if none is.
// The caller ends the wait with giveUp, unless all keys have come.
func (t *table) wait(keys [][]byte) (*waiter, error) {
	var absent []string
	for _, key := range keys {
		if !t.has(key) {
			absent = append(absent, string(key))
		}
	}
	return t.enlist(absent)
}

// barrier counts a rank, and returns a waiter for the other ranks. For the last rank
// it returns nil, and wakes the others.
func (t *table) barrier(key []byte, worldSize int64) (*waiter, error) {
	arrived, err := t.plus(key, 1)
	if err != nil {
		return nil, err
	}
	if arrived < worldSize {
		return t.enlist([]string{string(key)})
	}
	t.wakeAll(key)
	return nil, nil
}

func (t *table) has(key []byte) bool {
	if _, exists := t.values[string(key)]; exists {
		return true
	}
	_, exists := t.queues[string(key)]
	return exists
}

func (t *table) enlist(keys []string) (*waiter, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var bytes int64
	for _, key := range keys {
		bytes += cost(len(key), 0)
	}
	if err := t.grow(bytes); err != nil {
		return nil, err
	}
	w := &waiter{missing: make([]missing, len(keys)), left: len(keys), done: make(chan struct{})}
	for i, key := range keys {
		if t.waiters[key] == nil {
			t.waiters[key] = list.New()
		}
		w.missing[i] = missing{key: key, place: t.waiters[key].PushBack(absence{w, i})}
	}
	return w, nil
}

// absence is a waiter's i-th missing key.
type absence struct {
	w *waiter
	i int
}

// wakeAll tells all waiters of a key that it has come.
func (t *table) wakeAll(key []byte) {
	for t.wakeNext(key) {
	}
}

// wakeNext tells the oldest waiter of a key that it has come.
func (t *table) wakeNext(key []byte) bool {
	waiting := t.waiters[string(key)]
	if waiting == nil {
		return false
	}
	a := waiting.Front().Value.(absence)
	t.strike(a.w, a.i)
	a.w.left--
	if a.w.left == 0 {
		close(a.w.done)
	}
	return true
}

// giveUp ends a wait for keys that have not all come. It may be called once for a
// wait, also after the wait has ended.
func (t *table) giveUp(w *waiter) {
	if w.left == 0 {
		return
	}
	close(w.done)
	for i := range w.missing {
		if w.missing[i].place != nil {
			t.strike(w, i)
		}
	}
}

// strike takes a missing key off its list.
func (t *table) strike(w *waiter, i int) {
	m := &w.missing[i]
	waiting := t.waiters[m.key]
	waiting.Remove(m.place)
	m.place = nil
	if waiting.Len() == 0 {
		delete(t.waiters, m.key)
	}
	t.bytes -= cost(len(m.key), 0)
}
