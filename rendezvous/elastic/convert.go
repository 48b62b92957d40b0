package elastic

import (
	"bytes"
	"errors"
	"strings"

	"gpurun/rendezvous/elastic/rounds"
	pb "gpurun/rendezvous/elastic/v1"
)

func termsToProto(t rounds.Terms) *pb.Terms {
	return &pb.Terms{
		RunId: t.RunID, MinNodes: int32(t.Min), MaxNodes: int32(t.Max),
		MaxRestarts: int32(t.MaxRestarts), Static: t.Static,
	}
}

// nodeFromProto is a node as the state machine sees it; master is its address.
func nodeFromProto(j *pb.Join, master string) rounds.Node {
	t := j.GetTerms()
	return rounds.Node{
		Terms: rounds.Terms{
			RunID: t.GetRunId(), Min: int(t.GetMinNodes()), Max: int(t.GetMaxNodes()),
			MaxRestarts: int(t.GetMaxRestarts()), Static: t.GetStatic(),
		},
		Name:     j.GetName(),
		Rank:     int(j.GetRank()),
		Workers:  int(j.GetWorkers()),
		Role:     j.GetRole(),
		Master:   master,
		Round:    int(j.GetRound()),
		Restarts: int(j.GetRestarts()),
	}
}

// toProto is the message that carries out an effect, but for a Gathered, and
// whom it is for.
func toProto(effect rounds.Effect) (rounds.NodeID, *pb.AttendResponse) {
	switch e := effect.(type) {
	case rounds.Assemble:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_Assembled{Assembled: placeToProto(e.Round)}}
	case rounds.Begin:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_Begun{Begun: &pb.Begun{Round: int32(e.Round)}}}
	case rounds.Standby:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_Standby{Standby: &pb.Standby{}}}
	case rounds.Stop:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_Stop{
			Stop: &pb.Stop{Round: int32(e.Round), Reason: e.Reason, Counts: e.Counts},
		}}
	case rounds.Gathered:
		return e.To, nil
	case rounds.GatherFailed:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_GatherFailed{
			GatherFailed: &pb.GatherFailed{Round: int32(e.Round), Name: e.Name, Reason: e.Reason},
		}}
	case rounds.Told:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_Told{
			Told: &pb.Told{Round: int32(e.Round), From: int32(e.From), Name: e.Name, Data: e.Data},
		}}
	case rounds.Dismiss:
		return e.To, &pb.AttendResponse{What: &pb.AttendResponse_Ended{Ended: endToProto(e.End)}}
	}
	return 0, nil
}

func gatheredToProto(g rounds.Gathered) *pb.AttendResponse {
	p := &pb.Gathered{Round: int32(g.Round), Name: g.Name, Data: bytes.Join(g.Data, nil)}
	for _, part := range g.Data {
		p.Sizes = append(p.Sizes, uint32(len(part)))
	}
	return &pb.AttendResponse{What: &pb.AttendResponse_Gathered{Gathered: p}}
}

func gatheredFromProto(p *pb.Gathered) gathered {
	parts, rest := make([][]byte, 0, len(p.GetSizes())), p.GetData()
	for _, size := range p.GetSizes() {
		if uint64(size) > uint64(len(rest)) {
			return gathered{err: errors.New("the server broke the protocol: parts are longer than the whole")}
		}
		parts, rest = append(parts, rest[:size:size]), rest[size:]
	}
	return gathered{data: parts}
}

func placeToProto(r rounds.Round) *pb.Assembled {
	return &pb.Assembled{
		Round: int32(r.Number), Restarts: int32(r.Restarts),
		GroupRank: int32(r.GroupRank), Nodes: int32(r.Nodes),
		FirstRank: int32(r.FirstRank), WorldSize: int32(r.WorldSize),
		FirstRoleRank: int32(r.FirstRoleRank), RoleWorldSize: int32(r.RoleWorldSize),
		Master: r.Master,
	}
}

func placeFromProto(a *pb.Assembled) Place {
	return Place{
		Number: int(a.GetRound()), Restarts: int(a.GetRestarts()),
		GroupRank: int(a.GetGroupRank()), Nodes: int(a.GetNodes()),
		FirstRank: int(a.GetFirstRank()), WorldSize: int(a.GetWorldSize()),
		FirstRoleRank: int(a.GetFirstRoleRank()), RoleWorldSize: int(a.GetRoleWorldSize()),
		Master: a.GetMaster(),
	}
}

// The numbers of the protocol's kinds are those of the state machine's.
func endToProto(e *End) *pb.Ended {
	ended := &pb.Ended{Kind: pb.Ended_Kind(e.Kind), Reason: e.Reason}
	if e.Failure != nil {
		ended.Failure = &pb.Failure{Reason: e.Failure.Reason, ExitCode: int32(e.Failure.ExitCode)}
	}
	return ended
}

func endFromProto(p *pb.Ended) *End {
	e := &End{Kind: rounds.EndKind(p.GetKind()), Reason: p.GetReason()}
	if f := p.GetFailure(); f != nil {
		e.Failure = &Failure{Reason: f.GetReason(), ExitCode: int(f.GetExitCode())}
	}
	return e
}

// valid makes a text, which may be what a worker wrote last, fit for a protocol
// that carries UTF-8 alone.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
