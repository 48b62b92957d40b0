package elastic

import (
	"fmt"

	"gpurun/rendezvous/elastic/rounds"
	pb "gpurun/rendezvous/elastic/v1"
)

// ToAll is the destination of a message for all nodes of the round, its sender included.
const ToAll = rounds.ToAll

// Message is what one node of a round tells another.
type Message struct {
	From int // group rank
	Name string
	Data []byte
}

// Tell sends a message to the node of the round with a group rank, or to all. It does not wait for its arrival: a
// message to a node that is gone is lost.
func (r *Round) Tell(to int, name string, data []byte) error {
	if len(data) > rounds.MaxTellBytes {
		return fmt.Errorf("telling other nodes %q: %d bytes, and at most %d are possible", name, len(data),
			rounds.MaxTellBytes)
	}
	err := r.session.send(&pb.AttendRequest{What: &pb.AttendRequest_Tell{
		Tell: &pb.Tell{Round: int32(r.Number), To: int32(to), Name: name, Data: data},
	}})
	if err != nil {
		return fmt.Errorf("telling other nodes %q: %w", name, err)
	}
	return nil
}

// Told receives the messages of the round, in order for each sender.
func (r *Round) Told() <-chan Message { return r.told }

// messages are those that have arrived. A node that does not receive them loses the newest.
type messages chan Message

const mostMessages = 256

func newMessages() messages { return make(messages, mostMessages) }

func (m messages) put(message Message) {
	select {
	case m <- message:
	default:
	}
}
