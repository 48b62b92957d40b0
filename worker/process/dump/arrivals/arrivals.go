// Package arrivals says which ranks come late, by what PyTorch's store sees without any help of the program: the set-up
// of process groups, and barriers over the store. Collectives pass the store by.
package arrivals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpurun/rendezvous/tcpstore"
)

// Threshold is how late a rank must be, by the median of its late arrivals, before a sentence says so.
const Threshold = time.Second

// noticeable is how late an arrival must be to count as late: a barrier right after another one tells nothing.
const noticeable = 100 * time.Millisecond

// openAfter is how long a meeting must wait for a rank before a sentence says so.
const openAfter = time.Second

// Open says which ranks have reached the last meeting, if some have not. size is the number of ranks. A process group
// of fewer ranks looks the same, so the sentence does not say that a rank is awaited.
func Open(meetings []tcpstore.Meeting, size int, now time.Time) string {
	if len(meetings) == 0 {
		return ""
	}
	m := meetings[len(meetings)-1]
	n := len(m.Arrivals)
	if n == 0 || n >= size {
		return ""
	}
	waits := now.Sub(m.Arrivals[n-1].Time)
	if waits < openAfter {
		return ""
	}
	text := fmt.Sprintf("PyTorch's store has seen %d of %d ranks at %s, the last of them %s ago", n, size, name(m.Key),
		seconds(waits))
	if absent, known := absent(m, size); known {
		text += ", and not " + ranks(absent)
	}
	return text
}

// absent are the ranks that have not arrived, where all that have are known.
func absent(m tcpstore.Meeting, size int) (all []int, known bool) {
	here := map[int]bool{}
	for _, a := range m.Arrivals {
		here[a.Rank] = true
	}
	for rank := range size {
		if !here[rank] {
			all = append(all, rank)
		}
	}
	return all, len(all) == size-len(m.Arrivals)
}

// Late says who arrived last, how often and by how much, if that is more than the threshold and at least so many times.
// Only meetings that all ranks have reached since a time count.
func Late(meetings []tcpstore.Meeting, size, least int, since time.Time) string {
	late := map[string][]time.Duration{} // behind the rank before
	total := 0
	for _, m := range meetings {
		n := len(m.Arrivals)
		if n != size || n < 2 || m.Arrivals[n-1].Time.Before(since) {
			continue
		}
		total++
		last := m.Arrivals[n-1]
		who := "the client at " + last.Client
		if last.Rank >= 0 {
			who = fmt.Sprintf("rank %d", last.Rank)
		}
		if behind := last.Time.Sub(m.Arrivals[n-2].Time); behind >= noticeable {
			late[who] = append(late[who], behind)
		}
	}
	culprit, worst := "", time.Duration(0)
	for who, behind := range late {
		slices.Sort(behind)
		if m := median(behind); len(behind) >= least && m >= Threshold && (m > worst || m == worst && who < culprit) {
			culprit, worst = who, m
		}
	}
	if culprit == "" {
		return ""
	}
	behind := late[culprit]
	const text = "%s arrived last at %d of %d meetings in PyTorch's store, %s after the others (median; at most %s); " +
		"the store sees the set-up of process groups and barriers over it, not collectives"
	return fmt.Sprintf(text, culprit, len(behind), total, seconds(worst), seconds(behind[len(behind)-1]))
}

// median is that of sorted durations.
func median(sorted []time.Duration) time.Duration {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func ranks(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("rank %d", numbers[0])
	}
	shown := numbers[:min(len(numbers), 8)]
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(shown), " ", ","), "[]")
	if len(shown) < len(numbers) {
		text += fmt.Sprintf(" and %d more", len(numbers)-len(shown))
	}
	return "ranks " + text
}

// name says what a key is for.
func name(key string) string {
	switch {
	case key == "init/":
		return "the first connection"
	case strings.Contains(key, "store_based_barrier_key:"):
		_, number, _ := strings.Cut(key, "store_based_barrier_key:")
		return fmt.Sprintf("the set-up of process group %.40q", number)
	}
	if _, group, ok := strings.Cut(key, "default_pg/"); ok {
		return fmt.Sprintf("the set-up of process group %.40q by Gloo", group)
	}
	return fmt.Sprintf("the barrier %.60q", key)
}
