package pystack

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"gpurun/worker/process/dump"
)

// pySpyBytes bounds what is read of py-spy: 100 threads with 100 frames have about 2 MB.
const pySpyBytes = 16 << 20

// ReadPySpy reads what `py-spy dump --json` writes of one process. The main thread comes first.
func ReadPySpy(r io.Reader) ([]dump.Thread, error) {
	var traces []struct {
		PID      int    `json:"pid"`
		TID      int    `json:"os_thread_id"`
		Name     string `json:"thread_name"`
		ThreadID uint64 `json:"thread_id"`
		Frames   []struct {
			Function string `json:"name"`
			File     string `json:"filename"`
			Line     int    `json:"line"`
		} `json:"frames"`
	}
	text, err := io.ReadAll(io.LimitReader(r, pySpyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading py-spy's JSON: %w", err)
	}
	if len(text) > pySpyBytes {
		return nil, fmt.Errorf("py-spy's JSON has more than %d bytes", pySpyBytes)
	}
	if err := json.Unmarshal(text, &traces); err != nil {
		return nil, fmt.Errorf("py-spy's JSON: %w; it needs py-spy 0.3.0 or newer", err)
	}
	var threads []dump.Thread
	for _, trace := range traces[:min(len(traces), mostThreads)] {
		t := dump.Thread{TID: trace.TID, Name: trace.Name}
		for _, f := range trace.Frames[:min(len(trace.Frames), mostFrames)] {
			t.Python = append(t.Python, dump.Frame{Function: f.Function, File: f.File, Line: max(f.Line, 0)})
		}
		threads = append(threads, t)
		if main := trace.TID == trace.PID && trace.PID != 0; main || trace.TID == 0 && trace.Name == "MainThread" {
			last := len(threads) - 1
			threads = slices.Insert(threads[:last], 0, threads[last])
		}
	}
	return threads, nil
}
