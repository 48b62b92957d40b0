package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"gpurun/rendezvous"
)

// Order asks the agents of all nodes what their ranks are doing. Orders are numbered from 1; the node that orders
// collects the answers.
type Order struct {
	Number int    `json:"number"`
	Node   int    `json:"node"`
	Reason string `json:"reason"`
	Hang   bool   `json:"hang,omitempty"` // the job ends after it, because it hangs
}

// Keys of the nodes' store: of an order, of a node's answer, of the end of an order, and of whether a node's ranks are
// silent.
func orderKey(number int) string        { return fmt.Sprintf("dump/%d/order", number) }
func answerKey(number, node int) string { return fmt.Sprintf("dump/%d/of/%d", number, node) }
func overKey(number int) string         { return fmt.Sprintf("dump/%d/over", number) }
func silenceKey(node int) string        { return fmt.Sprintf("silent/%d", node) }

// Orders calls heard with each order, this node's own included, in their order. It does not wait.
func (n *Nodes) Orders(heard func(Order)) {
	n.tasks.Go(func() {
		for number := 1; ; number++ {
			var o Order
			text, err := n.await(n.group.Context(), orderKey(number))
			if err == nil {
				err = json.Unmarshal(text, &o)
			}
			if err != nil {
				n.config.Logger.Debug("no more dumps of all nodes", zap.Error(err))
				return
			}
			heard(o)
		}
	})
}

// Order makes an order with the next free number from o.Number on. If another node has made an order with that number
// first, Order returns that one: its answers serve as well.
func (n *Nodes) Order(ctx context.Context, o Order) (Order, error) {
	o.Node = n.config.Rank
	text, err := json.Marshal(o)
	if err != nil {
		return o, err
	}
	current, swapped, err := n.group.Store().CompareAndSet(ctx, orderKey(o.Number), nil, text)
	if err == nil && !swapped {
		err = json.Unmarshal(current, &o)
	}
	return o, err
}

// Answer is this node's answer to an order.
func (n *Nodes) Answer(ctx context.Context, number int, answer []byte) error {
	return n.group.Store().Set(ctx, answerKey(number, n.config.Rank), answer)
}

// Answers returns the answers of the other nodes, by node. It waits for them until ctx ends; missing names the nodes
// without an answer.
func (n *Nodes) Answers(ctx context.Context, number int) (answers map[int][]byte, missing []string) {
	all := make([][]byte, n.config.Count)
	var waiting sync.WaitGroup
	for node := range all {
		if node != n.config.Rank {
			waiting.Go(func() { all[node], _ = n.await(ctx, answerKey(number, node)) }) // without an answer it is missing
		}
	}
	waiting.Wait()
	answers = map[int][]byte{}
	for node, name := range n.names() {
		switch {
		case node == n.config.Rank:
		case all[node] == nil:
			missing = append(missing, name)
		default:
			answers[node] = all[node]
		}
	}
	return answers, missing
}

// Finish says that the node that has made an order has its answers.
func (n *Nodes) Finish(ctx context.Context, number int) error {
	return n.group.Store().Set(ctx, overKey(number), nil)
}

// Finished waits until the node that has made an order has its answers, or until ctx ends.
func (n *Nodes) Finished(ctx context.Context, number int) {
	_, _ = n.await(ctx, overKey(number)) // the caller goes on in any case
}

// hangKey is the key of the node that has noticed first that the job hangs.
const hangKey = "hang"

// Silence is what a node says of its ranks.
type Silence string

// The ranks of a node run, have been silent for too long, or have ended.
const (
	Running Silence = "running"
	Silent  Silence = "silent"
	Ended   Silence = "ended"
)

// SetSilence notes how the ranks of this node are, and reports whether the job hangs: the ranks of some nodes are
// silent, and those of all others have ended. It does so on one node only, and once.
func (n *Nodes) SetSilence(ctx context.Context, mine Silence) (hang bool, err error) {
	store := n.group.Store()
	if err := store.Set(ctx, silenceKey(n.config.Rank), []byte(mine)); err != nil || mine == Running {
		return false, err
	}
	anySilent := false
	for node := range n.config.Count {
		text, err := store.Get(ctx, silenceKey(node))
		if errors.Is(err, rendezvous.ErrKeyNotFound) || err == nil && Silence(text) == Running {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		anySilent = anySilent || Silence(text) == Silent
	}
	if !anySilent {
		return false, nil
	}
	_, hang, err = store.CompareAndSet(ctx, hangKey, nil, fmt.Append(nil, n.config.Rank))
	return hang, err
}

// await returns the value of a key when there is one.
func (n *Nodes) await(ctx context.Context, key string) ([]byte, error) {
	for {
		err := n.group.Store().Wait(ctx, key)
		switch {
		case err == nil:
			return n.group.Store().Get(ctx, key)
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		} // the time of one call is over
	}
}
