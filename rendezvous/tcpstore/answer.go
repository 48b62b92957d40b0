package tcpstore

import "fmt"

// answer carries out a request and puts what it is to be answered with in the
// client's outbox.
func (c *conn) answer(q request) error {
	t, out := c.loop.table, &c.out
	switch q.op {
	case opSet, opMultiSet:
		return t.set(q.keys, q.values)
	case opAppend:
		return t.append(q.keys[0], q.values[0])
	case opGet, opMultiGet:
		for _, key := range q.keys {
			out.blob(t.get(key))
		}
	case opCompareSet:
		value, err := t.compareSet(q.keys[0], q.values[0], q.values[1])
		if err != nil {
			return err
		}
		out.blob(value)
	case opAdd:
		sum, err := t.add(q.keys[0], q.number)
		if err != nil {
			return err
		}
		out.number(int(sum))
	case opCheck:
		if t.check(q.keys) {
			out.bytes(ready)
		} else {
			out.bytes(notReady)
		}
	case opGetNumKeys:
		out.number(t.len())
	case opDeleteKey:
		out.number(t.remove(q.keys[0]))
	case opListKeys:
		keys := t.keys()
		out.number(len(keys))
		for _, key := range keys {
			out.blob([]byte(key))
		}
	case opPing:
		out.bytes(q.nonce[:]...)
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
		w, err := t.wait(q.keys)
		if err != nil {
			return err
		}
		c.waitFor(w)
	case opBarrier:
		w, err := t.barrier(q.keys[0], q.number)
		if err != nil {
			return err
		}
		c.waitFor(w)
	case opCancelWait:
		out.bytes(waitCanceled)
	case opQueuePush:
		return t.push(q.keys[0], q.values[0])
	case opQueuePop:
		length, value := t.pop(q.keys[0])
		out.number(length)
		if length > 0 {
			out.blob(value)
		}
	case opQueueLen:
		out.number(t.queueLen(q.keys[0]))
	default:
		return fmt.Errorf("%w: operation %d", errProtocol, q.op)
	}
	return nil
}
