package schedule

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Turn is a decision: who goes on, and the most that it does.
type Turn struct {
	Actor Actor
	// Most bounds the turn: instructions of a warp, steps of a stream. Forever is no bound.
	Most int
}

// Forever is the bound of a turn that ends by itself.
const Forever = 1 << 20

// String is such as "0.1.1.2.3*40": rank 0, stream 1, launch 1, block 2, warp 3 for 40 instructions. A turn without a
// number ends when the actor waits.
func (t Turn) String() string {
	if t.Most >= Forever {
		return t.Actor.String()
	}
	return t.Actor.String() + "*" + strconv.Itoa(t.Most)
}

func parseTurn(text string) (Turn, error) {
	name, number, limited := strings.Cut(text, "*")
	id, err := parseActor(name)
	if err != nil || !limited {
		return Turn{id, Forever}, err
	}
	most, err := strconv.Atoi(number)
	if err != nil || most < 1 {
		return Turn{}, fmt.Errorf("the turn %q has no number of instructions of at least 1", text)
	}
	return Turn{id, most}, nil
}

// Turns are written as text, and more than a few compressed.
type Turns []Turn

const (
	mostReadable = 256
	packed       = "deflate:"
	mostTurns    = 1 << 28 // bytes of their text
)

// MarshalText implements encoding.TextMarshaler.
func (t Turns) MarshalText() ([]byte, error) {
	var text bytes.Buffer
	for i, turn := range t {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(turn.String())
	}
	if len(t) <= mostReadable {
		return text.Bytes(), nil
	}
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode([]byte(packed), small.Bytes()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Turns) UnmarshalText(text []byte) error {
	if small, ok := bytes.CutPrefix(text, []byte(packed)); ok {
		content, err := base64.StdEncoding.DecodeString(string(small))
		if err != nil {
			return fmt.Errorf("decoding the turns of a schedule: %w", err)
		}
		text, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(content)), mostTurns))
		if err != nil {
			return fmt.Errorf("decompressing the turns of a schedule: %w", err)
		}
	}
	*t = nil
	for word := range strings.FieldsSeq(string(text)) {
		turn, err := parseTurn(word)
		if err != nil {
			return err
		}
		*t = append(*t, turn)
	}
	return nil
}
