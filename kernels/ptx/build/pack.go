package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// packed is the folder of the compressed PTX, which the binary has, below that of the text, which people read.
const packed = "packed"

// pack compresses all PTX of a folder whose compressed file holds something else, and removes other compressed files.
func pack(folder string) error {
	texts, err := filepath.Glob(filepath.Join(folder, "*.ptx"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, packed), 0o755); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, file := range texts {
		to := filepath.Join(folder, packed, filepath.Base(file)+".gz")
		wanted[to] = true
		if err := packFile(file, to); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, packed, "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if wanted[file] {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// packFile leaves a compressed file as it is that holds the text: another version of Go may compress to other bytes.
func packFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	switch old, err := unpack(to); {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("compressing %s: %w", strings.TrimSuffix(filepath.Base(from), ".ptx"), err)
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}

func unpack(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return io.ReadAll(r)
}
