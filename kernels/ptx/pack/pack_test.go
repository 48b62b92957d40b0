package pack

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// packedTexts are the packed files of texts.
func packedTexts(module string) ([]byte, error) {
	text, err := texts(module)
	if err != nil {
		return nil, err
	}
	return Pack(text, "", texts)
}

var errUnknown = errors.New("unknown")

func texts(module string) ([]byte, error) {
	if module == "a" {
		return []byte(strings.Repeat("a module's text, line after line\n", 100)), nil
	}
	return nil, errUnknown
}

// A module that is like its dictionary is small, and comes back whole.
func TestPackWithDictionary(t *testing.T) {
	t.Parallel()
	like, _ := texts("a")
	like = append(like, "and one more"...)
	for _, dictionary := range []string{"", "a"} {
		data, err := Pack(like, dictionary, texts)
		if err != nil {
			t.Fatal(err)
		}
		if got := Dictionary(data); got != dictionary {
			t.Errorf("the dictionary is %q, want %q", got, dictionary)
		}
		if text, err := Unpack(data, packedTexts); err != nil || !bytes.Equal(text, like) {
			t.Errorf("with dictionary %q: %d bytes come back as %d, %v", dictionary, len(like), len(text), err)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	packed, err := Pack([]byte("text"), "", texts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack([]byte("no newline"), packedTexts); !errors.Is(err, ErrFormat) {
		t.Errorf("no newline: %v", err)
	}
	if _, err := Unpack(append([]byte("b"), packed...), packedTexts); !errors.Is(err, errUnknown) {
		t.Errorf("an unknown dictionary: %v", err)
	}
	if text, err := Unpack(packed[:len(packed)-2], packedTexts); err == nil {
		t.Errorf("half a frame is %q", text)
	}
}
