package tcpstore

// push adds to the end of a queue and wakes one of those who wait for it.
func (t *table) push(key string, value []byte) error {
	if err := t.grow(cost(key, value)); err != nil {
		return err
	}
	t.queues[key] = append(t.queues[key], value)
	t.wakeOne(key)
	return nil
}

// wakeOne tells of a key, oldest first, until there is one who waits for
// nothing else.
func (t *table) wakeOne(key string) {
	for waiting := t.waiters[key]; waiting != nil; waiting = t.waiters[key] {
		last := waiting.Front().Value.(absence).w.left == 1
		t.wakeNext(key)
		if last {
			return
		}
	}
}

// pop takes the first value off a queue. It returns how many there were; with
// none there is no value.
func (t *table) pop(key string) (length int, value []byte) {
	queue := t.queues[key]
	if len(queue) == 0 {
		return 0, nil
	}
	value, queue[0] = queue[0], nil
	t.bytes -= cost(key, value)
	if t.queues[key] = queue[1:]; len(queue) == 1 {
		delete(t.queues, key)
	}
	return len(queue), value
}

// queueLen is how many values a queue has.
func (t *table) queueLen(key string) int { return len(t.queues[key]) }
