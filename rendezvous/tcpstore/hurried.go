package tcpstore

import (
	"container/list"
	"time"
)

// hurried are those clients that must send the rest of a request, or take a
// reply, in time. All have the same time, so that the first is due first.
type hurried struct {
	clients *list.List
	time    time.Duration
}

func newHurried(d time.Duration) hurried { return hurried{clients: list.New(), time: d} }

// add begins a client's time, unless it has begun.
func (h *hurried) add(c *conn) {
	if c.hurry == nil {
		c.due = time.Now().Add(h.time)
		c.hurry = h.clients.PushBack(c)
	}
}

func (h *hurried) remove(c *conn) {
	if c.hurry != nil {
		h.clients.Remove(c.hurry)
		c.hurry = nil
	}
}

// late returns a client whose time is over, or nil and how long there will be
// none, which is negative for ever.
func (h *hurried) late() (*conn, time.Duration) {
	first := h.clients.Front()
	if first == nil {
		return nil, -1
	}
	c := first.Value.(*conn)
	if left := time.Until(c.due); left > 0 {
		return nil, left
	}
	return c, 0
}
