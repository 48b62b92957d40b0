package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

// hash is the SHA-256, in hex, of a kernel's file and of all headers in
// device/ and beside the file, each with its name and length. root is the folder
// kernels/.
func hash(root fs.FS, source string) (string, error) {
	headers, err := fs.Glob(root, "device/*.cuh")
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", source, err)
	}
	for folder := path.Dir(source); folder != "device" && folder != "."; folder = path.Dir(folder) {
		own, err := fs.Glob(root, path.Join(folder, "*.cuh"))
		if err != nil {
			return "", fmt.Errorf("hashing %s: %w", source, err)
		}
		headers = append(headers, own...)
	}
	sum := sha256.New()
	for _, name := range append(headers, source) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return "", fmt.Errorf("hashing %s: %w", source, err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
