package launcher

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/spawn"
)

// The messages between the nodes of a round. Node 0 merges:
//
//	any node -> node 0  want    an order without a number: a dump is wanted, and why
//	node 0 -> all       order   every node collects from its workers
//	all -> node 0       ranks   what a node has collected
//	node 0 -> all       page    the dump is over
//	any node -> node 0  silent  whether the node's workers have been silent for --hang-timeout, or have ended
const (
	wantMessage   = "dump: want"
	orderMessage  = "dump: order"
	ranksMessage  = "dump: ranks"
	pageMessage   = "dump: page"
	silentMessage = "dump: silent"
)

// order is a dump of all nodes.
type order struct {
	Number int    `json:"number"` // counts from 1 in a round
	Reason string `json:"reason"`
	Hang   bool   `json:"hang,omitempty"`
}

// ranksOf is what a node has collected for a dump.
type ranksOf struct {
	Number int         `json:"number"`
	Ranks  []dump.Rank `json:"ranks"`
}

// silence is what a node says of its workers.
type silence struct {
	Silent bool `json:"silent"` // for --hang-timeout
	Ended  bool `json:"ended"`
}

// pageOf is the page of a dump.
type pageOf struct {
	Number int    `json:"number"`
	Text   []byte `json:"text"`
}

const (
	// orderBound is how long a node that wants a dump waits for node 0. Then it shows its own workers.
	orderBound = time.Second
	// mergeBound is how long node 0 waits for the ranks of the other nodes, from the order on.
	mergeBound = collectBound + 700*time.Millisecond
)

// nodeDumps makes the dumps of a round on several machines.
type nodeDumps struct {
	round *elastic.Round
	log   *zap.Logger
	asked chan agent.DumpRequest // orders, and what gpurun dump asks for, for the agent
	stop  chan struct{}
	over  sync.WaitGroup
	hangs atomic.Bool // the job ends because of that, after the workers of this node have ended

	attempt *attempt // of this node; nil until its workers are about to start

	mu      sync.Mutex
	waiting chan order              // of a Write that wants a dump; nil: none
	ranks   map[int]map[int]ranksOf // by number and group rank; node 0 alone
	arrived chan struct{}           // closed and replaced when ranks arrive
	pages   map[int]chan []byte     // by number
	silent  map[int]silence         // by group rank; node 0 alone
	ending  bool                    // a dump was ordered after which the job ends; node 0 alone
	number  int                     // of the last order; node 0 alone
	until   time.Time               // when node 0 takes the last order for over
}

// beginNodeDumps begins to handle messages. The caller calls end.
func (d *dumper) beginNodeDumps(round *elastic.Round) *nodeDumps {
	if d == nil {
		return nil
	}
	n := &nodeDumps{
		round: round, log: d.log, asked: make(chan agent.DumpRequest, 16), stop: make(chan struct{}),
		ranks: map[int]map[int]ranksOf{}, arrived: make(chan struct{}), pages: map[int]chan []byte{},
		silent: map[int]silence{},
	}
	var local <-chan agent.DumpRequest
	if d.listener != nil {
		local = d.listener.Requests()
	}
	n.over.Go(func() {
		for {
			select {
			case m := <-round.Told():
				if err := n.take(m); err != nil {
					n.log.Debug("handling a message about dumps", zap.String("name", m.Name), zap.Error(err))
				}
			case request := <-local:
				n.ask(request)
			case <-n.stop:
				return
			}
		}
	})
	return n
}

func (n *nodeDumps) end() {
	if n != nil {
		close(n.stop)
		n.over.Wait()
	}
}

// takeOver answers for the agent, whose workers have ended: those of other nodes may hang.
func (n *nodeDumps) takeOver(outcome *agent.Outcome) {
	if n == nil || n.attempt == nil {
		return
	}
	var workers []collect.Worker
	for _, w := range outcome.Workers {
		exit := agent.DescribeExit(spawn.ExitStatus{Code: w.ExitCode, Signal: w.Signal})
		workers = append(workers, collect.Worker{Rank: w.Rank, LocalRank: w.LocalRank, PID: w.PID, Exit: exit})
	}
	n.over.Go(func() {
		if n.attempt.Hang > 0 {
			n.tell(0, silentMessage, silence{Ended: true})
		}
		for {
			select {
			case request := <-n.asked:
				if request.Hang {
					n.hangs.Store(true)
				}
				ctx, cancel := context.WithTimeout(context.Background(), agent.DumpTimeout)
				n.attempt.write(ctx, request, workers)
				cancel()
			case <-n.stop:
				return
			}
		}
	})
}

// jobHangs reports whether the job ends because it hangs, although the workers of this node have ended.
func (n *nodeDumps) jobHangs() bool { return n != nil && n.hangs.Load() }

// ask passes a request on to the agent.
func (n *nodeDumps) ask(request agent.DumpRequest) {
	select {
	case n.asked <- request:
	default: // there are enough dumps to come
	}
}

// tell sends a message. Errors are those of a rendezvous that is gone, which others report.
func (n *nodeDumps) tell(to int, name string, content any) {
	data, err := pack(content)
	if err == nil {
		err = n.round.Tell(to, name, data)
	}
	if err != nil {
		n.log.Debug("telling other nodes of a dump", zap.Error(err))
	}
}

// take handles a message.
func (n *nodeDumps) take(m elastic.Message) error {
	switch m.Name {
	case wantMessage:
		return unpacked(m.Data, n.wanted)
	case orderMessage:
		return unpacked(m.Data, n.ordered)
	case ranksMessage:
		return unpacked(m.Data, func(r ranksOf) { n.collected(m.From, r) })
	case pageMessage:
		return unpacked(m.Data, func(p pageOf) {
			select {
			case n.page(p.Number) <- p.Text:
			default: // it has come before
			}
		})
	case silentMessage:
		return unpacked(m.Data, func(s silence) { n.heardSilent(m.From, s) })
	}
	return nil
}

// wanted orders a dump, unless one is in progress, which serves as well.
func (n *nodeDumps) wanted(o order) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.until) && !o.Hang {
		return
	}
	n.number++
	n.until = time.Now().Add(agent.DumpTimeout)
	o.Number = n.number
	n.tell(elastic.ToAll, orderMessage, o)
}

// ordered gives an order to the Write that waits for one, or to the agent.
func (n *nodeDumps) ordered(o order) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting != nil {
		n.waiting <- o
		n.waiting = nil
		return
	}
	n.ask(agent.DumpRequest{Reason: o.Reason, Number: o.Number, Hang: o.Hang})
}

// collected notes the ranks of a node.
func (n *nodeDumps) collected(from int, r ranksOf) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ranks[r.Number] == nil {
		n.ranks[r.Number] = map[int]ranksOf{}
	}
	n.ranks[r.Number][from] = r
	close(n.arrived)
	n.arrived = make(chan struct{})
}

// heardSilent notes whether a node's workers are silent, and orders the end of the job if it hangs.
func (n *nodeDumps) heardSilent(from int, s silence) {
	n.mu.Lock()
	n.silent[from] = s
	hang := !n.ending && hangs(n.silent, n.round.Nodes)
	n.ending = n.ending || hang
	n.mu.Unlock()
	if hang {
		n.wanted(order{Reason: "the job hangs: the workers of all nodes are silent (--hang-timeout)", Hang: true})
	}
}

// tellSilent is agent.Dumps.Silent.
func (n *nodeDumps) tellSilent(silent bool) { n.tell(0, silentMessage, silence{Silent: silent}) }

// hangs reports whether a job on so many nodes makes no progress: the workers of some are silent, and those of all
// others have ended.
func hangs(heard map[int]silence, nodes int) bool {
	anySilent := false
	for node := range nodes {
		s := heard[node]
		if !s.Silent && !s.Ended {
			return false
		}
		anySilent = anySilent || s.Silent
	}
	return anySilent
}

// page receives the page of a dump.
func (n *nodeDumps) page(number int) chan []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pages[number] == nil {
		n.pages[number] = make(chan []byte, 1)
	}
	return n.pages[number]
}

// write makes a dump with the other nodes, or of this node alone if they do not answer.
func (n *nodeDumps) write(ctx context.Context, a *attempt, request agent.DumpRequest, workers []collect.Worker) []byte {
	begun := time.Now()
	o := order{Number: request.Number, Reason: request.Reason}
	if o.Number == 0 {
		o = n.want(ctx, o)
	}
	ranks := a.collect(ctx, workers)
	switch {
	case o.Number == 0:
		return a.publish(o.Reason, ranks, []string{
			fmt.Sprintf("the other nodes: node 0 did not answer within %v", orderBound),
		})
	case n.round.GroupRank == 0:
		all, missing := n.merge(ctx, o.Number, ranks, begun.Add(mergeBound))
		text := a.publish(o.Reason, all, missing)
		n.mu.Lock()
		n.until = time.Time{}
		n.mu.Unlock()
		n.tell(elastic.ToAll, pageMessage, pageOf{Number: o.Number, Text: text})
		return text
	}
	n.tell(0, ranksMessage, ranksOf{Number: o.Number, Ranks: ranks})
	select {
	case text := <-n.page(o.Number):
		return text
	case <-ctx.Done():
		return a.publish(o.Reason, ranks, []string{"the page of all nodes: node 0 has sent none in time"})
	}
}

// want asks node 0 for a dump, and waits for its order. Without one the number is 0.
func (n *nodeDumps) want(ctx context.Context, o order) order {
	came := make(chan order, 1)
	n.mu.Lock()
	n.waiting = came
	n.mu.Unlock()
	n.tell(0, wantMessage, o)
	select {
	case o := <-came:
		return o
	case <-time.After(orderBound):
	case <-ctx.Done():
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = nil
	return o
}

// merge waits for the ranks of the other nodes. missing has a sentence for each node that does not answer in time.
func (n *nodeDumps) merge(ctx context.Context, number int, own []dump.Rank, deadline time.Time,
) (all []dump.Rank, missing []string) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		n.mu.Lock()
		of, arrived := n.ranks[number], n.arrived
		complete := len(of) == n.round.Nodes-1
		n.mu.Unlock()
		if complete {
			break
		}
		select {
		case <-arrived:
			continue
		case <-ctx.Done():
		}
		break
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	all = slices.Clone(own)
	for node := 1; node < n.round.Nodes; node++ {
		r, ok := n.ranks[number][node]
		if !ok {
			missing = append(missing, fmt.Sprintf("node %d did not answer within %v", node, mergeBound))
		}
		all = append(all, r.Ranks...)
	}
	delete(n.ranks, number)
	return all, missing
}
