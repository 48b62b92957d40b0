package elastic

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"gpurun/rendezvous/elastic/rounds"
	pb "gpurun/rendezvous/elastic/v1"
)

// FuzzRequests lets three nodes say anything. The first two bytes of a request
// are the node and the request's length.
func FuzzRequests(f *testing.F) {
	for _, requests := range [][]*pb.AttendRequest{
		{join(1), join(1), {What: &pb.AttendRequest_Confirm{Confirm: &pb.Confirm{Round: 1}}}},
		{join(-1), {What: &pb.AttendRequest_Leave{Leave: &pb.Leave{Reason: "x"}}}},
		{{What: &pb.AttendRequest_Contribution{Contribution: &pb.Contribution{Round: 1, Name: "x"}}}},
	} {
		var script []byte
		for node, r := range requests {
			message, err := proto.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			script = append(append(script, byte(node), byte(len(message))), message...)
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		state, err := rounds.New(job(t, 1, 2).stateMachine())
		if err != nil {
			t.Fatal(err)
		}
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: fuzzAddr{}})
		for now := time.Second; len(script) >= 2; now += time.Second {
			node, length := rounds.NodeID(script[0]%3), min(int(script[1]), len(script)-2)
			var r pb.AttendRequest
			if err := proto.Unmarshal(script[2:2+length], &r); err == nil {
				for _, effect := range (&server{}).handle(ctx, state, now, node, &r) {
					toProto(effect)
				}
			}
			state.Tick(now)
			if next, ok := state.Next(); ok && next <= now {
				t.Fatalf("at %v the next deadline is %v", now, next)
			}
			script = script[2+length:]
		}
	})
}

func join(workers int32) *pb.AttendRequest {
	return &pb.AttendRequest{What: &pb.AttendRequest_Join{Join: &pb.Join{
		Terms: &pb.Terms{RunId: "test", MinNodes: 1, MaxNodes: 2}, Workers: workers, MasterPort: 99,
	}}}
}

// fuzzAddr is not an address.
type fuzzAddr struct{}

func (fuzzAddr) Network() string { return "fuzz" }
func (fuzzAddr) String() string  { return "fuzz" }

// FuzzGathered: whatever a server says was gathered, the parts are what was sent, one
// behind the other.
func FuzzGathered(f *testing.F) {
	for _, g := range []*pb.Gathered{
		{Round: 1, Name: "x", Data: []byte("abc"), Sizes: []uint32{1, 0, 2}},
		{Data: []byte("abc"), Sizes: []uint32{4}},
		{Sizes: []uint32{1<<32 - 1, 1}},
	} {
		message, err := proto.Marshal(g)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		g := &pb.Gathered{}
		if proto.Unmarshal(message, g) != nil {
			return
		}
		got := gatheredFromProto(g)
		if got.err == nil && !bytes.HasPrefix(g.GetData(), bytes.Join(got.data, nil)) || got.err == nil &&
			len(got.data) != len(g.GetSizes()) {
			t.Errorf("%q in parts of %v became %q", g.GetData(), g.GetSizes(), got.data)
		}
	})
}
