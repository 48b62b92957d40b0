package tcpstore

// crowd estimates how many clients keep the store busy: those that were ready
// in a round of so many visits, in which each counts once. More than that it
// does not see: beyond 8 processors no crowd is large enough for naps.
type crowd struct {
	size    int // in the last round
	clients int // in this one
	visits  int // in all
	begin   int // how many there were before this round
}

const visitsPerRound = 128

// visit is called when a client is ready.
func (w *crowd) visit(c *conn) {
	w.visits++
	if c.visit <= w.begin {
		w.clients++
	}
	c.visit = w.visits
	if w.visits == w.begin+visitsPerRound {
		w.size, w.clients, w.begin = w.clients, 0, w.visits
	}
}
