package verify

import (
	"bytes"
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/worker/rank"
)

// chunkBytes is how much of a buffer passes through the host at a time, a
// multiple of every element's size. Verification then takes as much of the host's memory
// for large calls as for small ones.
const chunkBytes = 16 << 20

// Staging passes a rank's memory through buffers of the host, chunk by chunk. Between
// chunks it keeps the rank's activity alive, and ends with the cause of the context's end.
type Staging struct {
	rank             *rank.Rank
	expected, actual []byte // kept from call to call
}

// NewStaging makes the buffers when they are first needed.
func NewStaging(r *rank.Rank) *Staging { return &Staging{rank: r} }

// Upload writes so many bytes, which fill makes. It gets each chunk and its offset.
func (s *Staging) Upload(ctx context.Context, to cudart.DevicePtr, bytes int64, fill func(dst []byte, at int64)) error {
	return s.chunks(ctx, bytes, func(at, n int64) error {
		dst := resized(&s.expected, n)
		fill(dst, at)
		return s.rank.Stream.Upload(to+cudart.DevicePtr(at), dst)
	})
}

// Download reads so many bytes, which an error calls what, and passes each chunk and its
// offset to judge.
func (s *Staging) Download(ctx context.Context, what string, from cudart.DevicePtr, bytes int64,
	judge func(got []byte, at int64),
) error {
	return s.chunks(ctx, bytes, func(at, n int64) error {
		got := resized(&s.actual, n)
		if err := s.rank.Stream.Download(got, from+cudart.DevicePtr(at)); err != nil {
			return fmt.Errorf("downloading %s: %w", what, err)
		}
		judge(got, at)
		return nil
	})
}

// Compare reads so many bytes, which an error calls what. It fails with ErrInputChanged if
// they are not what fill makes.
func (s *Staging) Compare(ctx context.Context, what string, from cudart.DevicePtr, size int64,
	fill func(dst []byte, at int64),
) error {
	same := true
	err := s.Download(ctx, what, from, size, func(got []byte, at int64) {
		want := resized(&s.expected, int64(len(got)))
		fill(want, at)
		same = same && bytes.Equal(got, want)
	})
	if err == nil && !same {
		return ErrInputChanged
	}
	return err
}

// chunks calls do for one chunk after the other, with its offset and length.
func (s *Staging) chunks(ctx context.Context, bytes int64, do func(at, n int64) error) error {
	for at := int64(0); at < bytes; at += chunkBytes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.rank.Status.KeepAlive(); err != nil {
			return err
		}
		if err := do(at, min(chunkBytes, bytes-at)); err != nil {
			return err
		}
	}
	return nil
}

// resized makes a buffer n bytes long. Its contents are undefined.
func resized(buffer *[]byte, n int64) []byte {
	if int64(cap(*buffer)) < n {
		*buffer = make([]byte, n)
	}
	return (*buffer)[:n]
}
