package launcher

import (
	"fmt"
	"strings"
	"time"

	"gpurun/rendezvous/tcpstore"
	"gpurun/worker/process/dump/arrivals"
)

// lateWindow is how far back a page looks for ranks that come late.
const lateWindow = time.Minute

// lateTimes is how often a rank must have come late before the end of a job says so: one late start is none.
const lateTimes = 3

// watch has the pages of the dumps say what a store has seen. Only the node that serves the store calls it.
func (d *dumper) watch(s *tcpstore.Server) {
	if d != nil {
		d.store.Store(s)
	}
}

// lateness says which ranks come late by what the store has seen since a time, a line each.
func (d *dumper) lateness(size int, since time.Time) string {
	s := d.store.Load()
	if s == nil {
		return ""
	}
	meetings := s.Meetings()
	var text strings.Builder
	for _, sentence := range []string{
		arrivals.Open(meetings, size, time.Now()), arrivals.Late(meetings, size, 1, since),
	} {
		if sentence != "" {
			fmt.Fprintf(&text, "%s\n", sentence)
		}
	}
	return text.String()
}

// sayLate says at the end of an attempt which rank came late all along.
func (a *attempt) sayLate() {
	if a == nil {
		return
	}
	s := a.store.Load()
	if s == nil {
		return
	}
	if sentence := arrivals.Late(s.Meetings(), a.worldSize, lateTimes, time.Time{}); sentence != "" {
		fmt.Fprintf(a.Stderr, "gpurun: %s\n", sentence)
	}
}
