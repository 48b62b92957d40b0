package check

import "encoding/json"

// ScheduleFormat is the version of the format of schedule files.
const ScheduleFormat = 1

// Schedule is a schedule that can run again, and what its file holds, as JSON.
type Schedule struct {
	Format int `json:"format"`
	// Version and Command are the caller's: which gpurun made the schedule, and for what.
	Version  string          `json:"version,omitempty"`
	Command  json.RawMessage `json:"command,omitempty"`
	Ranks    int             `json:"ranks"`
	SMs      int             `json:"sms"`
	Strategy Strategy        `json:"strategy"`
	Seed     uint64          `json:"seed"`
	// Trace is [Report.Trace] of the run. A replay that does something else has another one.
	Trace uint64 `json:"trace"`
}
