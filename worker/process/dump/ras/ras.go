// Package ras reads the status that NCCL's RAS subsystem tells as JSON since NCCL 2.28: which ranks of a communicator
// answer, and how many collectives each of them has called.
package ras

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"gpurun/worker/process/dump"
)

// mostBytes bounds the status: a rank of a communicator takes about 700 bytes.
const mostBytes = 32 << 20

// Read reads the answer to "set format json" and "status" at NCCL's port. Lines in front of the JSON, as the answer OK
// to the first of them, are skipped. The communicators come without what NCCL tells about hosts and GPUs.
func Read(r io.Reader) ([]dump.Communicator, error) {
	in, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading NCCL's RAS status: %w", err)
	}
	if len(in) > mostBytes {
		return nil, fmt.Errorf("NCCL's RAS status has more than %d bytes", mostBytes)
	}
	begin := bytes.IndexByte(in, '{')
	if begin < 0 {
		return nil, fmt.Errorf("NCCL's RAS status is no JSON, which needs NCCL 2.28 or newer: %.60q", in)
	}
	in = missingComma.ReplaceAll(in[begin:], []byte("$1,$2"))
	var s status
	if err := json.Unmarshal(in, &s); err != nil {
		return nil, fmt.Errorf("NCCL's RAS status: %w%s", err, place(in, err))
	}
	if s.Version == "" {
		return nil, fmt.Errorf("NCCL's RAS status lacks nccl_version")
	}
	return s.communicators(), nil
}

// missingComma is where NCCL 2.28 forgets a comma: between the GPU and the status of a rank that does not answer.
var missingComma = regexp.MustCompile(`("nvml_dev": -?[0-9]+)(\s*"status")`)

// place shows the text around a mistake in JSON.
func place(in []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	const around = 60
	at := int(syntax.Offset)
	return fmt.Sprintf(", at byte %d: %q", at, in[max(0, at-around):min(len(in), at+around)])
}

// status is what jsonWriteHeader and its neighbors write in NCCL's src/ras/client_support.cc.
type status struct {
	Version       string `json:"nccl_version"`
	Communicators []struct {
		Hash      string `json:"hash"`
		Secondary string `json:"secondary_hash"`
		Size      int    `json:"size"`
		Ranks     []struct {
			Rank   int `json:"rank"`
			PID    int `json:"pid"`
			Status struct {
				Error int  `json:"async_error"`
				Abort bool `json:"abort_flag"`
			} `json:"status"`
			Counts map[string]uint64 `json:"collective_counts"`
		} `json:"ranks"`
		Missing []struct {
			Rank   int `json:"rank"`
			PID    int `json:"pid"`
			Status struct {
				Unresponsive bool `json:"unresponsive"`
				Dead         bool `json:"considered_dead"`
			} `json:"status"`
		} `json:"missing_ranks"`
	} `json:"communicators"`
}

func (s status) communicators() []dump.Communicator {
	var all []dump.Communicator
	for _, c := range s.Communicators {
		comm := dump.Communicator{ID: c.Hash + ":" + c.Secondary, Size: c.Size}
		for _, r := range c.Ranks {
			rank := dump.CommunicatorRank{Rank: r.Rank, PID: r.PID, Counts: r.Counts, Error: r.Status.Error}
			rank.Aborted = r.Status.Abort
			maps.DeleteFunc(rank.Counts, func(_ string, count uint64) bool { return count == 0 })
			comm.Ranks = append(comm.Ranks, rank)
		}
		for _, r := range c.Missing {
			comm.Ranks = append(comm.Ranks, dump.CommunicatorRank{
				Rank: r.Rank, PID: r.PID, Missing: true, Dead: r.Status.Dead, Unresponsive: r.Status.Unresponsive,
			})
		}
		slices.SortStableFunc(comm.Ranks, func(a, b dump.CommunicatorRank) int { return a.Rank - b.Rank })
		all = append(all, comm)
	}
	return all
}
