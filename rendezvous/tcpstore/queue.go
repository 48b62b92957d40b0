package tcpstore

import "bytes"

// push adds to the end of a queue and wakes one waiter of the queue.
func (t *table) push(key, value []byte) error {
	if err := t.grow(cost(len(key), len(value))); err != nil {
		return err
	}
	t.queues[string(key)] = append(t.queues[string(key)], bytes.Clone(value))
	t.wakeOne(key)
	return nil
}

// wakeOne tells waiters that a key has come, the oldest first, until one of them
// waits for no other key.
func (t *table) wakeOne(key []byte) {
	for waiting := t.waiters[string(key)]; waiting != nil; waiting = t.waiters[string(key)] {
		last := waiting.Front().Value.(absence).w.left == 1
		t.wakeNext(key)
		if last {
			return
		}
	}
}

// pop takes the first value off a queue. It returns how many there were; with
// none there is no value.
func (t *table) pop(key []byte) (length int, value []byte) {
	queue := t.queues[string(key)]
	if len(queue) == 0 {
		return 0, nil
	}
	value, queue[0] = queue[0], nil
	t.bytes -= cost(len(key), len(value))
	if t.queues[string(key)] = queue[1:]; len(queue) == 1 {
		delete(t.queues, string(key))
	}
	return len(queue), value
}

// queueLen is how many values a queue has.
func (t *table) queueLen(key []byte) int { return len(t.queues[string(key)]) }
