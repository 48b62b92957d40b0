package launcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/page"
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
	var text bytes.Buffer
	fmt.Fprintf(&text, "gpurun: what the workers are doing, because %s\n", reason)
	if err := page.Write(&text, ranks, missing); err != nil {
		a.log.Warn("writing the page of a dump", zap.Error(err))
	}
	if late := a.lateness(a.worldSize, time.Now().Add(-lateWindow)); late != "" {
		fmt.Fprintf(&text, "\n%s", late)
	}
	if _, err := a.Stderr.Write(text.Bytes()); err != nil {
		a.log.Debug("printing the page of a dump", zap.Error(err))
	}
	if a.folder == "" {
		return text.Bytes()
	}
	name := filepath.Join(a.folder, fmt.Sprintf("dump-%d", a.written))
	all, err := json.MarshalIndent(record{Reason: reason, Time: time.Now(), Missing: missing, Ranks: ranks}, "", " ")
	if err == nil {
		err = result.WriteText(name+".json", append(all, '\n'))
	}
	if err == nil {
		err = result.WriteText(name+".txt", text.Bytes())
	}
	if err != nil {
		a.log.Warn("keeping the page of a dump", zap.Error(err))
	}
	return text.Bytes()
}
