// Package pack compresses PTX for the binary. The modules of one source are much alike: one is the dictionary of
// another, which is a tenth as large then.
//
// A packed file is the name of the module that is its dictionary, which may be empty, a newline, and a Zstandard frame
// (RFC 8878) with that module's text as raw content of the dictionary. In both texts registers and labels are counted
// from what is named before them.
package pack

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// FileOf is the name of a module's packed file.
func FileOf(module string) string { return module + ".ptx.pack" }

// The dictionary's number, and the window: larger than any module with its dictionary.
const (
	dictionaryID = 1
	window       = 8 << 20
)

// Text reads the PTX of a module.
type Text func(module string) ([]byte, error)

// ErrNotation says that a text cannot be packed: it would not come back whole.
var ErrNotation = errors.New("cannot pack PTX whose registers or labels have leading zeros, or are followed by a +")

// Pack compresses a text, with the text of the module `dictionary` unless that is empty.
func Pack(text []byte, dictionary string, read Text) ([]byte, error) {
	counted := relative(text)
	if !bytes.Equal(absolute(counted), text) {
		return nil, ErrNotation
	}
	options := []zstd.EOption{
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window),
	}
	if dictionary != "" {
		content, err := read(dictionary)
		if err != nil {
			return nil, err
		}
		options = append(options, zstd.WithEncoderDictRaw(dictionaryID, relative(content)))
	}
	w, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(counted, []byte(dictionary+"\n")), w.Close()
}

// ErrFormat says that data is no packed file.
var ErrFormat = errors.New("not a packed module: its first line does not name a dictionary")

// Unpack returns the text of a packed file. read reads the packed files of other modules.
func Unpack(data []byte, read func(module string) ([]byte, error)) ([]byte, error) {
	counted, err := decompress(data, read)
	return absolute(counted), err
}

func decompress(data []byte, read func(module string) ([]byte, error)) ([]byte, error) {
	dictionary, frame, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, ErrFormat
	}
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2 * window)}
	if len(dictionary) > 0 {
		content, err := read(string(dictionary))
		if err == nil {
			content, err = decompress(content, read)
		}
		if err != nil {
			return nil, fmt.Errorf("the dictionary %s: %w", dictionary, err)
		}
		options = append(options, zstd.WithDecoderDictRaw(dictionaryID, content))
	}
	r, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(frame, nil)
}

// Dictionary is the module that packed data names as its dictionary, or "".
func Dictionary(data []byte) string {
	name, _, _ := bytes.Cut(data, []byte("\n"))
	return string(name)
}
