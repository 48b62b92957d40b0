package tcpstore

import "fmt"

// answer carries out a request and puts what it is to be answered with in the
// client's outbox.
func (c *conn) answer(q request) error {
	t, out := c.loop.table, &c.out
	switch q.op {
	case opSet:
		return t.set(q.blob(), q.blob())
	case opMultiSet:
		for range q.number() {
			if err := t.set(q.blob(), q.blob()); err != nil {
				return err
			}
		}
	case opAppend:
		return t.append(q.blob(), q.blob())
	case opGet:
		out.blob(t.get(q.blob()))
	case opMultiGet:
		for range q.number() {
			out.blob(t.get(q.blob()))
		}
	case opCompareSet:
		value, err := t.compareSet(q.blob(), q.blob(), q.blob())
		if err != nil {
			return err
		}
		out.blob(value)
	case opAdd:
		sum, err := t.add(q.blob(), q.number())
		if err != nil {
			return err
		}
		out.number(int(sum))
	case opCheck:
		if t.check(q.keys()) {
			out.bytes(ready)
		} else {
			out.bytes(notReady)
		}
	case opGetNumKeys:
		out.number(t.len())
	case opDeleteKey:
		out.number(t.remove(q.blob()))
	case opListKeys:
		keys := t.keys()
		out.number(len(keys))
		for _, key := range keys {
			out.blob([]byte(key))
		}
	case opPing:
		out.bytes(q.take(4)...)
	default:
		return c.answerWaiting(q)
	}
	return nil
}

// answerWaiting is answer for waits, and for queues, which one waits for.
func (c *conn) answerWaiting(q request) error {
	t, out := c.loop.table, &c.out
	switch q.op {
	case opWait:
		w, err := t.wait(q.keys())
		if err != nil {
			return err
		}
		c.waitFor(w)
	case opBarrier:
		w, err := t.barrier(q.blob(), q.number())
		if err != nil {
			return err
		}
		c.waitFor(w)
	case opCancelWait:
		out.bytes(waitCanceled)
	case opQueuePush:
		return t.push(q.blob(), q.blob())
	case opQueuePop:
		length, value := t.pop(q.blob())
		out.number(length)
		if length > 0 {
			out.blob(value)
		}
	case opQueueLen:
		out.number(t.queueLen(q.blob()))
	default:
		return fmt.Errorf("%w: operation %d", errProtocol, q.op)
	}
	return nil
}
