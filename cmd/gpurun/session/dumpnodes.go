package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/dump/request"
	"gpurun/worker/process/nodes"
	"gpurun/worker/process/spawn"
)

const (
	// orderBound is how long a node waits for node 0's store, which has the orders.
	orderBound = time.Second
	// mergeBound is how long a node waits for the answers of the others, from its order on.
	mergeBound = answerBound + time.Second
)

// nodeDumps makes pages with the ranks of all nodes. The node that orders one prints it.
type nodeDumps struct {
	all   *nodes.Nodes
	log   *zap.Logger
	host  string
	hangs bool                   // --hang-timeout is set
	asked chan agent.DumpRequest // orders, and what gpurun dump asks for, for the agent
	hush  chan nodes.Silence     // of the ranks of this node
	stop  chan struct{}
	tasks sync.WaitGroup

	mu      sync.Mutex
	heard   int                  // the number of the last order
	done    int                  // the number of the last order that this node has answered
	mine    map[int]bool         // orders of this node
	workers *[]agent.WorkerState // how they ended; nil: the agent still answers
}

// newNodeDumps begins to listen for orders; nil on one machine. The caller closes it.
func newNodeDumps(all *nodes.Nodes, listener *request.Listener, hangs bool, log *zap.Logger) *nodeDumps {
	if all == nil {
		return nil
	}
	n := &nodeDumps{
		all: all, log: log, hangs: hangs, asked: make(chan agent.DumpRequest, 16), hush: make(chan nodes.Silence, 16),
		stop: make(chan struct{}), mine: map[int]bool{},
	}
	n.host, _ = os.Hostname() // without it the page has no names of hosts
	var local <-chan agent.DumpRequest
	if listener != nil {
		local = listener.Requests()
	}
	all.Orders(n.ordered)
	n.tasks.Go(func() {
		for {
			select {
			case request := <-local:
				n.ask(request)
			case silent := <-n.hush:
				n.silence(silent)
			case <-n.stop:
				return
			}
		}
	})
	return n
}

func (n *nodeDumps) close() {
	if n != nil {
		close(n.stop)
		n.tasks.Wait()
	}
}

// ask passes a request on to the agent.
func (n *nodeDumps) ask(request agent.DumpRequest) {
	select {
	case n.asked <- request:
	default: // there are enough dumps to come
	}
}

// ordered hears of an order of any node.
func (n *nodeDumps) ordered(o nodes.Order) {
	n.mu.Lock()
	n.heard = max(n.heard, o.Number)
	n.mine[o.Number] = o.Node == n.all.Rank()
	over := n.workers
	n.mu.Unlock()
	if over != nil {
		n.answer(context.Background(), o.Number, ended(*over, n.host))
		return
	}
	n.ask(agent.DumpRequest{Reason: o.Reason, Number: o.Number, Hang: o.Hang})
}

// takeOver answers for the agent, whose workers have ended: those of other nodes may hang.
func (n *nodeDumps) takeOver(o *agent.Outcome) {
	if n == nil || o == nil {
		return
	}
	n.mu.Lock()
	n.workers = &o.Workers
	n.mu.Unlock()
	if n.hangs {
		n.tell(nodes.Ended)
	}
}

// ended is what ranks do that have ended.
func ended(workers []agent.WorkerState, host string) (all []rankDoing) {
	for _, w := range workers {
		exit := agent.DescribeExit(spawn.ExitStatus{Code: w.ExitCode, Signal: w.Signal})
		all = append(all, rankDoing{Rank: w.Rank, PID: w.PID, Host: host, activity: activity{Step: exit}})
	}
	return all
}

// tellSilent is agent.Dumps.Silent.
func (n *nodeDumps) tellSilent(silent bool) {
	if silent {
		n.tell(nodes.Silent)
	} else {
		n.tell(nodes.Running)
	}
}

func (n *nodeDumps) tell(silent nodes.Silence) {
	select {
	case n.hush <- silent:
	case <-n.stop:
	}
}

// silence tells the other nodes whether the ranks of this one are silent, and ends a job that hangs.
func (n *nodeDumps) silence(mine nodes.Silence) {
	ctx, cancel := context.WithTimeout(context.Background(), orderBound)
	defer cancel()
	hang, err := n.all.SetSilence(ctx, mine)
	if err == nil && hang {
		_, err = n.order(ctx, nodes.Order{
			Reason: "the job hangs: the ranks of all nodes are silent (--hang-timeout)", Hang: true,
		})
	}
	if err != nil {
		n.log.Debug("telling the other nodes of silent ranks", zap.Error(err))
	}
}

// order makes an order with the next number. If another node is faster, its order serves as well: that of a node that
// waits for this one, which would otherwise wait for that node.
func (n *nodeDumps) order(ctx context.Context, o nodes.Order) (nodes.Order, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heard > n.done && !o.Hang {
		o.Number = n.heard
		return o, nil
	}
	o.Number = n.heard + 1
	o, err := n.all.Order(ctx, o)
	if err == nil {
		n.heard = max(n.heard, o.Number)
	}
	return o, err
}

// write is agent.Dumps.Write.
func (n *nodeDumps) write(ctx context.Context, d *dumper, request agent.DumpRequest, workers []collect.Worker) {
	deadline, number := time.Now().Add(mergeBound), request.Number
	if number == 0 {
		bounded, cancel := context.WithTimeout(ctx, orderBound)
		o, err := n.order(bounded, nodes.Order{Reason: request.Reason})
		cancel()
		if err != nil {
			d.publish(request, d.ranks(ctx, workers), []string{"the other nodes: node 0 has not answered: " + err.Error()})
			return
		}
		number = o.Number
	}
	n.mu.Lock()
	again, mine := number <= n.done, n.mine[number] || request.Number == 0
	n.done = max(n.done, number)
	n.mu.Unlock()
	if again { // this node has ordered it, and has its page
		return
	}
	ranks := d.ranks(ctx, workers)
	for i := range ranks {
		ranks[i].Host = n.host
	}
	n.answer(ctx, number, ranks)
	bounded, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	switch {
	case mine:
		others, missing := n.merge(bounded, number)
		d.publish(request, append(ranks, others...), missing)
		n.finish(ctx, number)
	case request.Hang: // the job ends after this
		n.all.Finished(bounded, number)
	}
}

// finish tells the other nodes that a page is complete.
func (n *nodeDumps) finish(ctx context.Context, number int) {
	ctx, cancel := context.WithTimeout(ctx, orderBound)
	defer cancel()
	if err := n.all.Finish(ctx, number); err != nil {
		n.log.Debug("telling the other nodes that the page is complete", zap.Error(err))
	}
}

// answer sends what the ranks of this node do.
func (n *nodeDumps) answer(ctx context.Context, number int, ranks []rankDoing) {
	ctx, cancel := context.WithTimeout(ctx, orderBound)
	defer cancel()
	text, err := json.Marshal(ranks)
	if err == nil {
		err = n.all.Answer(ctx, number, text)
	}
	if err != nil {
		n.log.Debug("telling the other nodes what the ranks do", zap.Error(err))
	}
}

// merge waits for the ranks of the other nodes. missing has a sentence if some have not answered in time.
func (n *nodeDumps) merge(ctx context.Context, number int) (ranks []rankDoing, missing []string) {
	answers, late := n.all.Answers(ctx, number)
	for node, text := range answers {
		var theirs []rankDoing
		if err := json.Unmarshal(text, &theirs); err != nil {
			late = append(late, fmt.Sprintf("node %d (%v)", node, err))
			continue
		}
		ranks = append(ranks, theirs...)
	}
	if len(late) > 0 {
		missing = []string{fmt.Sprintf("no answer within %v: %s", mergeBound, strings.Join(late, ", "))}
	}
	return ranks, missing
}
