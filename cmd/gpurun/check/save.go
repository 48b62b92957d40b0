package check

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/program"
	"gpurun/worker/result"
)

// save writes the schedule of a finding, which has a number in the report, and names the file in it. A folder that
// cannot be written to is said, and is no error: the findings are printed.
func (m *merge) save(f merged, out *checkreport.Finding, number int) {
	folder := m.plan.options.Save
	if f.Schedule == nil || folder == "" {
		return
	}
	out.Decisions = len(f.Schedule.Turns)
	if replayed := m.plan.options.Replay; replayed != "" {
		out.Replay = replayed
		return
	}
	path := filepath.Join(folder, fmt.Sprintf("%s-%d.json", f.Kind, number))
	if err := f.write(path); err != nil {
		fmt.Fprintf(m.stderr, "gpurun: warning: %v\n", err)
		return
	}
	out.Replay = path
}

// write writes the schedule of a finding with what it runs.
func (f merged) write(path string) error {
	command, err := json.Marshal(f.request)
	if err != nil {
		return err
	}
	s := *f.Schedule
	s.Version, s.Command = program.Version(), command
	return result.Replace(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(s)
	})
}
