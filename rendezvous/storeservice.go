package rendezvous

import (
	"context"

	"gpurun/rendezvous/store"
	pb "gpurun/rendezvous/v1"
)

// storeService serves the gRPC service Store to the members of the group.
type storeService struct {
	pb.UnimplementedStoreServer
	coordinator *coordinator
	store       *store.Store
}

func (s *storeService) Set(ctx context.Context, r *pb.SetRequest) (*pb.SetResponse, error) {
	if _, err := s.coordinator.caller(ctx); err != nil {
		return nil, toStatus(err)
	}
	return &pb.SetResponse{}, toStatus(s.store.Set(r.GetKey(), r.GetValue()))
}

func (s *storeService) Get(ctx context.Context, r *pb.GetRequest) (*pb.GetResponse, error) {
	if _, err := s.coordinator.caller(ctx); err != nil {
		return nil, toStatus(err)
	}
	value, err := s.store.Get(r.GetKey())
	return &pb.GetResponse{Value: value}, toStatus(err)
}

func (s *storeService) Wait(ctx context.Context, r *pb.WaitRequest) (*pb.WaitResponse, error) {
	if _, err := s.coordinator.caller(ctx); err != nil {
		return nil, toStatus(err)
	}
	ctx, cancel := context.WithTimeout(ctx, milliseconds(r.GetTimeoutMs()))
	defer cancel()
	return &pb.WaitResponse{}, toStatus(s.store.Wait(ctx, r.GetKeys()))
}

func (s *storeService) Add(ctx context.Context, r *pb.AddRequest) (*pb.AddResponse, error) {
	if _, err := s.coordinator.caller(ctx); err != nil {
		return nil, toStatus(err)
	}
	value, err := s.store.Add(r.GetKey(), r.GetDelta())
	return &pb.AddResponse{Value: value}, toStatus(err)
}

func (s *storeService) CompareAndSet(ctx context.Context,
	r *pb.CompareAndSetRequest,
) (*pb.CompareAndSetResponse, error) {
	if _, err := s.coordinator.caller(ctx); err != nil {
		return nil, toStatus(err)
	}
	current, swapped, err := s.store.CompareAndSet(r.GetKey(), r.Expected, r.GetDesired())
	return &pb.CompareAndSetResponse{Swapped: swapped, Current: current}, toStatus(err)
}

func (s *storeService) Delete(ctx context.Context, r *pb.DeleteRequest) (*pb.DeleteResponse, error) {
	if _, err := s.coordinator.caller(ctx); err != nil {
		return nil, toStatus(err)
	}
	return &pb.DeleteResponse{Existed: s.store.Delete(r.GetKey())}, nil
}
