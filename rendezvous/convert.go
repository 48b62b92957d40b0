package rendezvous

import (
	"time"

	"gpurun/rendezvous/membership"
	pb "gpurun/rendezvous/v1"
)

// longestTimeout bounds what a client can ask for.
const longestTimeout = 24 * time.Hour

// milliseconds is a duration from the wire; the sender may be hostile.
func milliseconds(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), longestTimeout.Milliseconds())) * time.Millisecond
}

func memberFromProto(p *pb.Member) membership.Member {
	return membership.Member{
		Rank:      int(p.GetRank()),
		LocalRank: int(p.GetLocalRank()),
		WorldSize: int(p.GetWorldSize()),
		Host:      p.GetHost(),
		PID:       int(p.GetPid()),
		Device:    p.GetDevice(),
	}
}

func memberToProto(m membership.Member) *pb.Member {
	return &pb.Member{
		Rank:      int32(m.Rank),
		LocalRank: int32(m.LocalRank),
		WorldSize: int32(m.WorldSize),
		Host:      m.Host,
		Pid:       int64(m.PID),
		Device:    m.Device,
	}
}

func arrivalFromProto(r *pb.ExchangeRequest) membership.Arrival {
	return membership.Arrival{
		Op:       operationFromProto(r.GetOperation()),
		Name:     r.GetName(),
		Sequence: r.GetSequence(),
		Root:     int(r.GetRoot()),
		Data:     r.GetData(),
		Timeout:  milliseconds(r.GetTimeoutMs()),
	}
}

func operationFromProto(o pb.Operation) membership.Operation {
	switch o {
	case pb.Operation_OPERATION_BARRIER:
		return membership.Barrier
	case pb.Operation_OPERATION_ALL_GATHER:
		return membership.AllGather
	case pb.Operation_OPERATION_BROADCAST:
		return membership.Broadcast
	}
	return 0 // the state machine refuses it
}
