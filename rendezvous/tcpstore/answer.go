package tcpstore

import "fmt"

// answer carries out a request and sends what it is to be answered with.
func (c *conn) answer(q request) error {
	t := c.table
	switch q.op {
	case opSet:
		return t.set([]string{q.key}, [][]byte{q.value})
	case opMultiSet:
		return t.set(q.keys, q.values)
	case opAppend:
		return t.append(q.key, q.value)
	case opGet:
		return c.replyBlobs(t.get([]string{q.key})...)
	case opMultiGet:
		return c.replyBlobs(t.get(q.keys)...)
	case opCompareSet:
		value, err := t.compareSet(q.key, q.expected, q.value)
		if err != nil {
			return err
		}
		return c.replyBlobs(value)
	case opAdd:
		sum, err := t.add(q.key, q.number)
		if err != nil {
			return err
		}
		return c.replyInt(int(sum))
	case opCheck:
		if t.check(q.keys) {
			return c.replyByte(ready)
		}
		return c.replyByte(notReady)
	case opGetNumKeys:
		return c.replyInt(t.len())
	case opDeleteKey:
		if t.remove(q.key) {
			return c.replyInt(1)
		}
		return c.replyInt(0)
	case opListKeys:
		return c.replyKeys(t.keys())
	case opPing:
		return c.reply(q.nonce[:])
	default:
		return c.answerWaiting(q)
	}
}

// answerWaiting is answer for waits, and for queues, which one waits for.
func (c *conn) answerWaiting(q request) error {
	t := c.table
	switch q.op {
	case opWait:
		w, err := t.wait(q.keys)
		if err != nil {
			return err
		}
		return c.replyWhenDone(w)
	case opBarrier:
		w, err := t.barrier(q.key, q.number)
		if err != nil {
			return err
		}
		return c.replyWhenDone(w)
	case opCancelWait:
		return c.replyByte(waitCanceled)
	case opQueuePush:
		return t.push(q.key, q.value)
	case opQueuePop:
		length, value := t.pop(q.key)
		if length == 0 {
			return c.replyInt(0)
		}
		return c.reply(number(length), number(len(value)), value)
	case opQueueLen:
		return c.replyInt(t.queueLen(q.key))
	default:
		return fmt.Errorf("%w: operation %d", errProtocol, q.op)
	}
}

func (c *conn) replyKeys(keys []string) error {
	all := number(len(keys))
	for _, key := range keys {
		all = append(all, number(len(key))...)
		all = append(all, key...)
	}
	return c.reply(all)
}
