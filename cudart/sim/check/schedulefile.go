package check

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ScheduleFormat is the version of the format of schedule files.
const ScheduleFormat = 1

// Schedule is a schedule that can run again: see [Checker.Replay]. As JSON it is the content of a file.
type Schedule struct {
	Format int `json:"format"`
	// Version and Command are the caller's: which gpurun made the schedule, and for what.
	Version  string          `json:"version,omitempty"`
	Command  json.RawMessage `json:"command,omitempty"`
	Ranks    int             `json:"ranks"`
	SMs      int             `json:"sms"`
	Strategy Strategy        `json:"strategy,omitempty"`
	Seed     uint64          `json:"seed"`
	// Trace is [Report.Trace] of the run. A replay that does something else has another one.
	Trace uint64 `json:"trace,string"`
	// Turns are the decisions. Behind the last one everyone runs until it waits, the lowest number first.
	Turns Turns `json:"turns"`
}

// Turn is a decision: who goes on, and the most that it does.
type Turn struct {
	actor actorID
	most  int
}

// String is such as "0.1.1.2.3*40": rank 0, stream 1, launch 1, block 2, warp 3 for 40 instructions. A turn without a
// number ends when the actor waits.
func (t Turn) String() string {
	if t.most >= forever {
		return t.actor.String()
	}
	return t.actor.String() + "*" + strconv.Itoa(t.most)
}

func parseTurn(text string) (Turn, error) {
	name, number, limited := strings.Cut(text, "*")
	id, err := parseActorID(name)
	if err != nil || !limited {
		return Turn{id, forever}, err
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

// ParseSchedule reads the content of a schedule file.
func ParseSchedule(text []byte) (*Schedule, error) {
	var s Schedule
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(&s); {
	case err != nil:
		return nil, fmt.Errorf("reading a schedule: %w", err)
	case s.Format != ScheduleFormat:
		return nil, fmt.Errorf("the schedule has format %d, and this gpurun reads %d: use the gpurun that wrote it (%q)",
			s.Format, ScheduleFormat, s.Version)
	case s.Ranks < 1 || s.SMs < 1:
		return nil, errors.New("the schedule names no ranks or multiprocessors: it is no file of gpurun check")
	}
	return &s, nil
}
