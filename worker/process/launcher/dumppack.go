package launcher

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// mostUnpacked bounds a message between nodes after it has been unpacked: stacks of 512 ranks have some 50 MB.
const mostUnpacked = 128 << 20

// pack makes compressed JSON, which for stacks is a twentieth.
func pack(content any) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// unpacked calls f with what pack has made.
func unpacked[T any](data []byte, f func(T)) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("unpacking %d bytes: %w", len(data), err)
	}
	var content T
	if err := json.NewDecoder(io.LimitReader(r, mostUnpacked)).Decode(&content); err != nil {
		return fmt.Errorf("unpacking %d bytes: %w", len(data), err)
	}
	f(content)
	return nil
}
