// Package flight reads what PyTorch's flight recorder knows of a rank's last collectives. PyTorch writes it as a pickle
// into the file or pipe that TORCH_FR_DUMP_TEMP_FILE or TORCH_NCCL_DEBUG_INFO_PIPE_FILE names, or as JSON on request.
package flight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"gpurun/worker/process/dump"
)

const (
	mostBytes   = 32 << 20 // of a dump; 2,000 collectives, PyTorch's default, have about 2 MB
	mostEntries = 20_000   // the last ones are kept
	mostFrames  = 64       // of one collective, the innermost
	mostTensors = 64       // of one collective, the first
	mostDims    = 16
	mostRanks   = 1 << 16 // of one process group
	mostLetters = 256     // of a name, in bytes
)

// Read reads a dump of any version since 2.0 of the format, which counts collectives apart from sends and receives.
// It returns the collectives in the order in which the rank entered them.
func Read(r io.Reader) ([]dump.Collective, error) {
	in, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a dump of PyTorch's flight recorder: %w", err)
	case len(in) > mostBytes:
		return nil, fmt.Errorf(
			"a dump of PyTorch's flight recorder has more than %d bytes: set TORCH_FR_BUFFER_SIZE=2000", mostBytes,
		)
	}
	var d recording
	if text := bytes.TrimSpace(in); len(text) > 0 && text[0] == '{' {
		if err = json.Unmarshal(text, &d); err == nil {
			d.Entries = d.Entries[max(0, len(d.Entries)-mostEntries):]
		}
	} else {
		d, err = fromPickle(in)
	}
	if err != nil {
		return nil, fmt.Errorf("a dump of PyTorch's flight recorder: %w", err)
	}
	return d.collectives()
}

// recording is a dump: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp in PyTorch.
type recording struct {
	Version string `json:"version"`
	Groups  map[string]struct {
		Ranks string `json:"ranks"` // "[0, 1]"
	} `json:"pg_config"`
	Entries []entry `json:"entries"` // the oldest first
}

type entry struct {
	Group    []string  `json:"process_group"` // name and description
	Sequence int64     `json:"collective_seq_id"`
	P2P      int64     `json:"p2p_seq_id"`
	IsP2P    bool      `json:"is_p2p"`
	Name     string    `json:"profiling_name"`
	Created  int64     `json:"time_created_ns"` // since 1970
	Sizes    [][]int64 `json:"input_sizes"`
	Types    []string  `json:"input_dtypes"`
	State    string    `json:"state"`
	Frames   []frame   `json:"frames"` // the innermost first
}

type frame struct {
	Function string `json:"name"`
	File     string `json:"filename"`
	Line     int64  `json:"line"`
}

func (d recording) collectives() ([]dump.Collective, error) {
	if !strings.HasPrefix(d.Version, "2.") {
		return nil, fmt.Errorf("a dump of PyTorch's flight recorder has version %.20q; gpurun reads 2.x", d.Version)
	}
	members := groups{byText: map[string][]int{}}
	var all []dump.Collective
	for _, e := range d.Entries {
		c := dump.Collective{
			Sequence: e.Sequence, P2P: e.IsP2P, Operation: operation(e.Name), State: e.State,
			Sizes: bounded(e.Sizes), Type: dataType(e.Types),
		}
		if e.IsP2P {
			c.Sequence = e.P2P
		}
		if len(e.Group) > 0 {
			c.Group, c.Ranks = groupName(e.Group), members.ranks(d.Groups[e.Group[0]].Ranks)
		}
		if e.Created > 0 {
			c.Created = time.Unix(0, e.Created).UTC()
		}
		for _, f := range e.Frames[:min(len(e.Frames), mostFrames)] {
			line := int(min(max(f.Line, 0), 1<<30))
			c.Python = append(c.Python, dump.Frame{Function: f.Function, File: f.File, Line: line})
		}
		all = append(all, c)
	}
	return all, nil
}

func bounded(sizes [][]int64) [][]int64 {
	sizes = sizes[:min(len(sizes), mostTensors)]
	for i, dims := range sizes {
		sizes[i] = dims[:min(len(dims), mostDims)]
	}
	return sizes
}

// dataType is the type of all inputs, or the list of them where they differ.
func dataType(types []string) string {
	same := true
	for _, t := range types {
		same = same && t == types[0]
	}
	if same {
		types = types[:min(len(types), 1)]
	}
	return short(strings.Join(types[:min(len(types), mostTensors)], ","))
}
