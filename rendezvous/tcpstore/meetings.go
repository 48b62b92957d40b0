package tcpstore

import (
	"bytes"
	"net"
	"slices"
	"strconv"
	"time"
)

// A Meeting is a point that all ranks must reach before one goes on: a key to which PyTorch's clients add 1, or a
// process group that Gloo sets up.
type Meeting struct {
	Key      string
	Arrivals []Arrival // in the order of time
}

// An Arrival is one client's. The rank is known of clients that have told it in the name of a key.
type Arrival struct {
	Rank   int    // -1: unknown
	Client string // address and port
	Time   time.Time
}

// What is kept of meetings. A job of more ranks than mostArrivals is not watched in whole.
const (
	mostMeetings = 64
	mostArrivals = 1 << 14
)

// meetings watches which clients arrive. The store sees the set-up of process groups, and barriers over the store. It
// does not see collectives.
type meetings struct {
	kept  []*meeting // the oldest first
	ranks map[*conn]int
}

type meeting struct {
	key     string
	arrived []arrival
}

type arrival struct {
	client *conn
	at     net.Addr
	time   time.Time
	rank   int
}

// Meetings returns the last meetings, the oldest first. Of the oldest, arrivals can be missing.
func (s *Server) Meetings() (all []Meeting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.meetings.kept {
		public := Meeting{Key: m.key}
		for _, a := range m.arrived {
			rank, ok := s.meetings.ranks[a.client]
			if !ok {
				rank = a.rank
			}
			public.Arrivals = append(public.Arrivals, Arrival{Rank: rank, Client: a.at.String(), Time: a.time})
		}
		all = append(all, public)
	}
	return all
}

// see notes a request that is an arrival, or that tells the client's rank. It keeps nothing of q.
func (m *meetings) see(c *conn, q request) {
	switch q.op {
	case opAdd:
		if key := q.blob(); isMeeting(key) && q.number() == 1 {
			m.arrive(c, key)
		}
	case opBarrier:
		m.arrive(c, q.blob())
	case opSet:
		if group, rank, ok := glooKey(q.blob()); ok {
			if m.ranks == nil {
				m.ranks = map[*conn]int{}
			}
			if bytes.HasSuffix(group, worldGroup) {
				m.ranks[c] = rank
			}
			m.arrive(c, group)
		}
	}
}

// isMeeting knows the keys of torch/distributed: TCPStore's own, init_process_group's and new_group's, and those of
// torch.distributed.elastic.utils.store.barrier.
func isMeeting(key []byte) bool {
	return bytes.Equal(key, []byte("init/")) || bytes.Contains(key, []byte("store_based_barrier_key:")) ||
		bytes.HasSuffix(key, []byte("/num_members"))
}

// worldGroup ends the keys of the group of all ranks, in which a rank's number is that of the job.
var worldGroup = []byte("default_pg/0/0")

// glooKey parses the key that Gloo sets first when a rank sets up a process group: its name, and the rank in it, as in
// //worker/attempt_0/default_pg/0/0/rank_3.
func glooKey(key []byte) (group []byte, rank int, ok bool) {
	group, number, ok := bytes.Cut(key, []byte("/rank_"))
	if !ok || len(number) > 10 {
		return nil, 0, false
	}
	n, err := strconv.ParseUint(string(number), 10, 31)
	return group, int(n), err == nil
}

// arrive notes an arrival. A client that has arrived before begins the meeting anew: a key can be used again.
func (m *meetings) arrive(c *conn, key []byte) {
	i := len(m.kept) - 1
	for i >= 0 && m.kept[i].key != string(key) {
		i--
	}
	again := i >= 0 && slices.ContainsFunc(m.kept[i].arrived, func(a arrival) bool { return a.client == c })
	if i < 0 || again {
		if len(m.kept) == mostMeetings {
			m.kept = slices.Delete(m.kept, 0, 1)
		}
		m.kept = append(m.kept, &meeting{key: string(key)})
		i = len(m.kept) - 1
	}
	if last := m.kept[i]; len(last.arrived) < mostArrivals {
		last.arrived = append(last.arrived, arrival{client: c, at: c.RemoteAddr(), time: time.Now(), rank: -1})
	}
}

// leave forgets a client whose connection has ended, and keeps its rank.
func (m *meetings) leave(c *conn) {
	rank, ok := m.ranks[c]
	delete(m.ranks, c)
	for _, kept := range m.kept {
		for i := range kept.arrived {
			if a := &kept.arrived[i]; a.client == c {
				a.client = nil
				if ok {
					a.rank = rank
				}
			}
		}
	}
}
