package launcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/dump"
	"gpurun/worker/result"
)

// record is the file dump-N.json.
type record struct {
	Reason  string      `json:"reason"`
	Time    time.Time   `json:"time"`
	Missing []string    `json:"missing,omitempty"` // nodes
	Ranks   []dump.Rank `json:"ranks"`
}

// publish writes the page to stderr, and to the folder of the attempt's logs if that is kept. It returns the page.
func (a *attempt) publish(reason string, ranks []dump.Rank, missing []string) []byte {
	a.written++
	var page bytes.Buffer
	fmt.Fprintf(&page, "gpurun: what the workers are doing, because %s\n", reason)
	if err := writePage(&page, ranks, missing); err != nil {
		a.log.Warn("writing the page of a dump", zap.Error(err))
	}
	if _, err := a.Stderr.Write(page.Bytes()); err != nil {
		a.log.Debug("printing the page of a dump", zap.Error(err))
	}
	if a.folder == "" {
		return page.Bytes()
	}
	name := filepath.Join(a.folder, fmt.Sprintf("dump-%d", a.written))
	text, err := json.MarshalIndent(record{Reason: reason, Time: time.Now(), Missing: missing, Ranks: ranks}, "", " ")
	if err == nil {
		err = result.WriteText(name+".json", append(text, '\n'))
	}
	if err == nil {
		err = result.WriteText(name+".txt", page.Bytes())
	}
	if err != nil {
		a.log.Warn("keeping the page of a dump", zap.Error(err))
	}
	return page.Bytes()
}

// writePage stands in for the page.
func writePage(w io.Writer, ranks []dump.Rank, missing []string) error {
	for _, r := range ranks {
		fmt.Fprintf(w, "rank %d (pid %d on %s) %s\n", r.Rank, r.PID, r.Host, r.Exit)
		for _, p := range r.Processes {
			fmt.Fprintf(w, "  %d %s\n", p.PID, p.Command)
			for _, t := range p.Threads {
				fmt.Fprintf(w, "    %d %s %s %s\n", t.TID, t.Name, t.State, t.Wait)
				for _, f := range t.Python {
					fmt.Fprintf(w, "      %s (%s:%d)\n", f.Function, f.File, f.Line)
				}
			}
		}
		for _, c := range r.Collectives {
			fmt.Fprintf(w, "  %+v\n", c)
		}
		for _, m := range r.Missing {
			fmt.Fprintf(w, "  missing: %s\n", m)
		}
	}
	for _, m := range missing {
		fmt.Fprintf(w, "missing: %s\n", m)
	}
	return nil
}
