package tcpstore

import "fmt"

// carryOut carries out a request and adds what it is answered with to out. For a
// wait that is not over it returns the waiter, which the caller gives up or
// waits for.
func (s *Server) carryOut(c *conn, q request, out *reply) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meetings.see(c, q)
	return s.table.answer(q, out)
}

func (s *Server) giveUp(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.giveUp(w)
}

// answer is carryOut for operations on keys with values.
func (t *table) answer(q request, out *reply) (*waiter, error) {
	switch q.op {
	case opSet:
		return nil, t.set(q.blob(), q.blob())
	case opMultiSet:
		for range q.number() {
			if err := t.set(q.blob(), q.blob()); err != nil {
				return nil, err
			}
		}
	case opAppend:
		return nil, t.append(q.blob(), q.blob())
	case opGet:
		out.blob(t.get(q.blob()))
	case opMultiGet:
		for range q.number() {
			out.blob(t.get(q.blob()))
		}
	case opCompareSet:
		value, err := t.compareSet(q.blob(), q.blob(), q.blob())
		if err != nil {
			return nil, err
		}
		out.blob(value)
	case opAdd:
		sum, err := t.add(q.blob(), q.number())
		if err != nil {
			return nil, err
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
		return t.answerWaiting(q, out)
	}
	return nil, nil
}

// answerWaiting is carryOut for waits and queues.
func (t *table) answerWaiting(q request, out *reply) (w *waiter, err error) {
	switch q.op {
	case opWait:
		w, err = t.wait(q.keys())
	case opBarrier:
		w, err = t.barrier(q.blob(), q.number())
	case opCancelWait:
		out.bytes(waitCanceled)
		return nil, nil
	case opQueuePush:
		return nil, t.push(q.blob(), q.blob())
	case opQueuePop:
		length, value := t.pop(q.blob())
		out.number(length)
		if length > 0 {
			out.blob(value)
		}
		return nil, nil
	case opQueueLen:
		out.number(t.queueLen(q.blob()))
		return nil, nil
	default:
		return nil, fmt.Errorf("%w: operation %d", errProtocol, q.op)
	}
	if w == nil && err == nil {
		out.bytes(stopWaiting)
	}
	return w, err
}
