package symm

import (
	"context"
	"errors"
	"os"
)

// exchangeFiles is [backend].exchange where handles are open files.
func exchangeFiles(ctx context.Context, ex Exchange, mine *os.File) ([]handle, error) {
	files, err := ex.AllGatherFiles(ctx, roundHandle, mine)
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

func closeAll(handles []handle) error {
	var failures []error
	for _, h := range handles {
		failures = append(failures, h.close())
	}
	return errors.Join(failures...)
}

// received returns the file that a peer sent.
func (h handle) received() (*os.File, error) {
	if h.file == nil {
		return nil, errors.New("it sent no file descriptor")
	}
	return h.file, nil
}
