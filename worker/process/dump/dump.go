// Package dump says what the ranks of a job were doing at one moment: the stacks of their threads, what they waited
// for, and which collective each of them was in. An agent collects a Rank for each of its workers; node 0 merges those
// of all nodes into one page.
package dump

import "time"

// A Rank is what was collected of one worker and of the processes that it started.
type Rank struct {
	Rank      int       `json:"rank"`
	WorldSize int       `json:"world_size,omitempty"` // 0: unknown
	LocalRank int       `json:"local_rank"`
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Time      time.Time `json:"time"`      // of the collection
	Output    time.Time `json:"output"`    // when the worker last wrote to stdout or stderr; zero: never
	Processes []Process `json:"processes"` // the worker first, then its descendants that still run
	// Collectives are the last ones of PyTorch's process groups, oldest first, where a flight recorder told.
	Collectives []Collective `json:"collectives,omitempty"`
	// Communicators are those of the job, where NCCL's RAS told; one rank's answer is enough.
	Communicators []Communicator `json:"communicators,omitempty"`
	GPU           *GPU           `json:"gpu,omitempty"`
	Exit          string         `json:"exit,omitempty"` // how the worker ended, if it did
	// Missing says what could not be collected, and what would make it possible.
	Missing []string `json:"missing,omitempty"`
}

// A Process is one process of a rank.
type Process struct {
	PID     int      `json:"pid"`
	Parent  int      `json:"parent"`
	Command string   `json:"command"` // arguments, joined by spaces
	Threads []Thread `json:"threads"` // the main thread first
}

// A Thread is one thread of a process.
type Thread struct {
	TID    int      `json:"tid"`
	Name   string   `json:"name"`
	State  string   `json:"state"`            // as in /proc/PID/stat: R, S, D, Z, T, ...
	Wait   string   `json:"wait,omitempty"`   // the kernel's function that it sleeps in (/proc/PID/wchan)
	Kernel []string `json:"kernel,omitempty"` // of /proc/PID/stack where it may be read; innermost first
	Python []Frame  `json:"python,omitempty"` // innermost first
}

// A Frame is one function of a Python stack.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// A Collective is one entry of PyTorch's flight recorder.
type Collective struct {
	Group     string    `json:"group"`    // the process group's name or description
	Ranks     []int     `json:"ranks"`    // of the group; empty: unknown
	Sequence  int64     `json:"sequence"` // counts the group's collectives from 1; for P2P its sends and receives
	P2P       bool      `json:"p2p,omitempty"`
	Operation string    `json:"operation"` // ALLREDUCE, BROADCAST, ...
	Sizes     [][]int64 `json:"sizes"`     // the shapes of its inputs
	Type      string    `json:"type"`
	State     string    `json:"state"`   // scheduled, started or completed
	Created   time.Time `json:"created"` // when the rank entered it; zero: unknown
	Python    []Frame   `json:"python"`  // innermost first
}

// A Communicator is one of NCCL's, as its RAS subsystem knows it.
type Communicator struct {
	ID    string             `json:"id"`
	Size  int                `json:"size"`
	Ranks []CommunicatorRank `json:"ranks"` // by their number in the communicator
}

// A CommunicatorRank is a rank of a communicator.
type CommunicatorRank struct {
	Rank         int               `json:"rank"`   // in the communicator
	PID          int               `json:"pid"`    // as NCCL sees it; -1: unknown
	Counts       map[string]uint64 `json:"counts"` // collectives that it has called, by NCCL's name; none is 0
	Error        int               `json:"error,omitempty"`
	Aborted      bool              `json:"aborted,omitempty"`
	Missing      bool              `json:"missing,omitempty"` // NCCL got no answer about it
	Dead         bool              `json:"dead,omitempty"`    // NCCL takes its process for dead
	Unresponsive bool              `json:"unresponsive,omitempty"`
}

// A GPU is what NVML tells of a rank's device.
type GPU struct {
	Index       int    `json:"index"`
	Name        string `json:"name"`
	Utilisation int    `json:"utilisation"` // percent of the last sample period in which a kernel ran
	MemoryUsed  uint64 `json:"memory_used"` // bytes
	MemoryTotal uint64 `json:"memory_total"`
	Processes   []int  `json:"processes"`     // that compute on it
	Xid         uint64 `json:"xid,omitempty"` // the last critical error, where it could be read
}
