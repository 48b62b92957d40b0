package symm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxFailure bounds the text of a failure in a report, and maxReport a whole
// report, in bytes. JSON needs up to six bytes for one of the text.
const (
	maxFailure = 1 << 10
	maxReport  = 8 << 10
)

// report is what a rank tells its peers about a step. Verdicts are drawn from
// the reports alone, so that all ranks draw the same one.
type report struct {
	Bytes     int64  `json:"bytes"`
	Backend   string `json:"backend"`
	Multicast bool   `json:"multicast,omitempty"`
	Facts     facts  `json:"facts,omitzero"`
	// Cannot is empty where the rank can do with the backend that is being tried.
	Cannot string `json:"cannot,omitempty"`
	// Failure is empty where the step succeeded.
	Failure string `json:"failure,omitempty"`
	// Unreachable is a peer whose memory could not be mapped for want of
	// peer access, where that is why the step failed.
	Unreachable *int `json:"unreachable,omitempty"`
}

// agree tells all ranks how this one fared, and returns an error on all of
// them when one failed or the reports do not fit together.
func (m *Memory) agree(ctx context.Context, round string, failure error) error {
	reports, err := m.gather(ctx, round, m.report(failure))
	if err != nil {
		return errors.Join(failure, err)
	}
	return m.verdict(reports, failure)
}

// verdict is the same on all ranks, but for this rank's own failure, which keeps
// its codes.
func (m *Memory) verdict(reports []report, failure error) error {
	var failures []error
	for rank, r := range reports {
		if r.Failure == "" {
			continue
		}
		err := errors.New(r.Failure)
		if rank == m.ex.Rank() {
			err = failure
		}
		if r.Unreachable != nil {
			err = &NoPeerAccessError{Rank: rank, Peer: *r.Unreachable, Err: err}
		}
		failures = append(failures, fmt.Errorf("rank %d: %w", rank, err))
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return errors.Join(
		same("size", reports, func(r report) string { return fmt.Sprintf("%d bytes", r.Bytes) }),
		same("backend", reports, func(r report) string { return r.Backend }),
		same("multicast option", reports, func(r report) string { return fmt.Sprint(r.Multicast) }),
	)
}

// report describes this rank and how it fared.
func (m *Memory) report(failure error) report {
	mine := report{Bytes: m.Bytes, Backend: m.Backend, Multicast: m.options.Multicast}
	if failure == nil {
		return mine
	}
	mine.Failure = clip(failure)
	var r *refusal
	if errors.As(failure, &r) {
		mine.Unreachable = &r.peer
	}
	return mine
}

// clip is as much of an error's text as a report holds.
func clip(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxFailure)], "?")
}

// gather exchanges reports and decodes all of them.
func (m *Memory) gather(ctx context.Context, round string, mine report) ([]report, error) {
	text, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("encoding the report for %s: %w", round, err)
	}
	texts, err := m.ex.AllGather(ctx, round, text)
	m.peerLost = m.peerLost || err != nil
	if err == nil {
		err = wantOnePerRank(len(texts), m.ex.WorldSize())
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for all ranks at %s: %w", round, err)
	}
	reports := make([]report, len(texts))
	var failures []error
	for rank, text := range texts {
		if reports[rank], err = decode(text); err != nil {
			failures = append(failures, fmt.Errorf("report of rank %d at %s: %w", rank, round, err))
		}
	}
	return reports, errors.Join(failures...)
}

func decode(text []byte) (report, error) {
	var r report
	if len(text) > maxReport {
		return r, fmt.Errorf("%d bytes are more than the %d allowed", len(text), maxReport)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return report{}, fmt.Errorf("not readable: %w", err)
	}
	return r, nil
}

// same returns an error naming all ranks and their values unless the ranks'
// values agree.
func same(what string, reports []report, value func(report) string) error {
	ranks := map[string][]string{}
	var order []string
	for rank, r := range reports {
		v := value(r)
		if !slices.Contains(order, v) {
			order = append(order, v)
		}
		ranks[v] = append(ranks[v], fmt.Sprint(rank))
	}
	if len(order) == 1 {
		return nil
	}
	var groups []string
	for _, v := range order {
		groups = append(groups, fmt.Sprintf("%s on rank %s", v, strings.Join(ranks[v], ",")))
	}
	return fmt.Errorf("symmetric memory needs the same %s everywhere: %s", what, strings.Join(groups, "; "))
}
