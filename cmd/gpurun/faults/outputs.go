package faults

import (
	"strings"
	"time"
)

// outputFaults are readers of standard output that do not read, or that are gone.
func outputFaults() []Fault {
	return []Fault{
		{
			Name: "slow reader", Does: "The reader of standard output stops reading.",
			Job: unread, Strike: strikeUnread,
		},
		{
			Name: "closed stdout", Does: "Standard output is closed: from the start, or by its reader.",
			Job: closedJob, Strike: strikeClosed,
		},
	}
}

// unread is a job that nobody reads.
func unread(c Cell) Job {
	job := programJob(c)
	job.Unread = true
	return job
}

// manyLines writes more than a pipe holds.
const manyLines = "while :; do echo 0123456789012345678901234567890123456789; done"

// strikeUnread writes more than the reader reads, and asks for the end once everything is stuck.
func strikeUnread(s *Scene) error {
	if err := s.tell(rankToHit, manyLines); err != nil {
		return err
	}
	time.Sleep(pause)
	return s.End()
}

// closedJob has a reader that goes, or a standard output that is closed from the start.
func closedJob(c Cell) Job {
	if c.Moment == BeforeJoin {
		job := collectiveJob(c)
		args := strings.Replace(strings.Join(job.Nodes[0], " "), "1000000", "1", 1)
		return Job{Nodes: [][]string{strings.Fields(args)}, Shell: "exec >&-"}
	}
	return unread(c)
}

// strikeClosed closes the reader's end, and writes.
func strikeClosed(s *Scene) error {
	if s.Cell.Moment == BeforeJoin {
		return nil
	}
	s.nodes[0].stdout.Close()
	return s.tell(rankToHit, manyLines)
}
