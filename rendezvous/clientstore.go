package rendezvous

import (
	"context"

	pb "gpurun/rendezvous/v1"
)

// Store is the group's key-value store. Keys have at most 1 KiB, values at
// most 1 MiB; ErrLimit says that the store is full. It outlives the members
// that wrote to it, until the server closes.
type Store struct {
	group *Group
	api   pb.StoreClient
}

// Set stores a value under a key, whether or not the key exists.
func (s *Store) Set(ctx context.Context, key string, value []byte) error {
	return s.group.call(ctx, func(ctx context.Context, _ int64) error {
		_, err := s.api.Set(ctx, &pb.SetRequest{Key: key, Value: value})
		return err
	})
}

// Get returns a key's value, or ErrKeyNotFound.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	var response *pb.GetResponse
	err := s.group.call(ctx, func(ctx context.Context, _ int64) (err error) {
		response, err = s.api.Get(ctx, &pb.GetRequest{Key: key})
		return err
	})
	return response.GetValue(), err
}

// Wait returns when each of the keys has been seen to exist. When ctx's
// deadline passes first, the error is *MissingKeys.
func (s *Store) Wait(ctx context.Context, keys ...string) error {
	return s.group.call(ctx, func(ctx context.Context, timeoutMs int64) error {
		_, err := s.api.Wait(ctx, &pb.WaitRequest{Keys: keys, TimeoutMs: timeoutMs})
		return err
	})
}

// Add adds delta to a decimal number and returns the sum. A key that does not
// exist counts as 0; ErrNotANumber says that it holds something else.
func (s *Store) Add(ctx context.Context, key string, delta int64) (int64, error) {
	var response *pb.AddResponse
	err := s.group.call(ctx, func(ctx context.Context, _ int64) (err error) {
		response, err = s.api.Add(ctx, &pb.AddRequest{Key: key, Delta: delta})
		return err
	})
	return response.GetValue(), err
}

// CompareAndSet stores desired when the key's value is expected, or, with
// expected nil, when the key does not exist. It returns the value that the
// key has afterwards, nil for none, and whether desired was stored.
func (s *Store) CompareAndSet(ctx context.Context, key string, expected,
	desired []byte,
) (current []byte, swapped bool, err error) {
	var response *pb.CompareAndSetResponse
	err = s.group.call(ctx, func(ctx context.Context, _ int64) (err error) {
		response, err = s.api.CompareAndSet(ctx, &pb.CompareAndSetRequest{Key: key, Expected: expected, Desired: desired})
		return err
	})
	return response.GetCurrent(), response.GetSwapped(), err
}

// Delete removes a key and says whether it existed.
func (s *Store) Delete(ctx context.Context, key string) (existed bool, err error) {
	var response *pb.DeleteResponse
	err = s.group.call(ctx, func(ctx context.Context, _ int64) (err error) {
		response, err = s.api.Delete(ctx, &pb.DeleteRequest{Key: key})
		return err
	})
	return response.GetExisted(), err
}
