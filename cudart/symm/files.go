package symm

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// exchangeFiles is [backend].exchange where handles are open files.
func exchangeFiles(ctx context.Context, ex Exchange, mine *os.File) ([]handle, error) {
	files, err := ex.AllGatherFiles(ctx, stepHandles, mine)
	handles := make([]handle, len(files))
	for rank, f := range files {
		handles[rank].file = f
	}
	if err == nil {
		err = wantOnePerRank(len(files), ex.WorldSize())
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(handles))
	}
	return handles, nil
}

// exchangeBytes is [backend].exchange where handles are bytes.
func exchangeBytes(ctx context.Context, ex Exchange, mine []byte) ([]handle, error) {
	all, err := ex.AllGather(ctx, stepHandles, mine)
	if err == nil {
		err = wantOnePerRank(len(all), ex.WorldSize())
	}
	if err != nil {
		return nil, err
	}
	handles := make([]handle, len(all))
	for rank, bytes := range all {
		handles[rank].bytes = bytes
	}
	return handles, nil
}

func closeAll(handles []handle) error {
	var failures []error
	for _, h := range handles {
		failures = append(failures, h.close())
	}
	return errors.Join(failures...)
}

// receivedBytes returns the bytes that a peer sent as a handle of some kind.
func (h handle) receivedBytes(kind string) ([handleBytes]byte, error) {
	if len(h.bytes) != handleBytes {
		return [handleBytes]byte{}, fmt.Errorf("its %s handle has %d bytes instead of %d", kind, len(h.bytes), handleBytes)
	}
	return [handleBytes]byte(h.bytes), nil
}

// received returns the file that a peer sent.
func (h handle) received() (*os.File, error) {
	if h.file == nil {
		return nil, errors.New("it sent no file descriptor")
	}
	return h.file, nil
}
