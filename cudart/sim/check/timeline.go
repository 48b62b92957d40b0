package check

import (
	"cmp"
	"slices"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// Event is something that a warp did, for a timeline.
type Event struct {
	Access
	Where            string // the first of the bytes
	Acquire, Release bool
	Barrier          bool // it arrived at a barrier of its block
}

// timeline keeps the last events before a finding is seen: strong accesses, fences and barriers, and of the weak
// accesses those at the lines of the finding.
type timeline struct {
	finding *Finding
	key     string
	most    int
	events  []Event
	seen    bool
}

// Timeline replays a schedule and returns the last events, at most so many, up to where it has a finding, or up to the
// run's end.
func (c *Checker) Timeline(s *schedule.Schedule, f *Finding, most int, task func(*Rank) error) ([]Event, error) {
	cfg := c.cfg
	cfg.timeline = &timeline{finding: f, key: f.Key(), most: cmp.Or(most, 64)}
	recording, err := New(cfg)
	if err != nil {
		return nil, err
	}
	_, err = recording.Replay(s, task)
	t := cfg.timeline
	if len(t.events) > 0 {
		err = nil // what tasks return is known
	}
	return t.withCommands(), err
}

// withCommands adds the sides that are commands of streams, which nobody observes.
func (t *timeline) withCommands() []Event {
	events := t.events
	for i, side := range t.finding.Sides {
		switch {
		case side.Kernel != "":
		case i == 0:
			events = slices.Insert(events, 0, Event{Access: side, Where: t.finding.Where})
		default:
			events = append(events, Event{Access: side, Where: t.finding.Where})
		}
	}
	return events
}

// recorder is an observer that keeps events, too.
type recorder struct {
	*observer
	timeline *timeline
}

// observed is what observes a grid.
func (o *observer) observed() exec.Observer {
	if t := o.run.checker.cfg.timeline; t != nil {
		return &recorder{o, t}
	}
	if o.run.origins != nil {
		return &originRecorder{o, o.run.origins}
	}
	return o
}

func (r *recorder) Access(at exec.Place, a *exec.ObservedAccess) {
	scope := scopeOf(a.Order, a.Scope)
	e := r.event(at, kinds[a.Kind], scope)
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 1 {
			e.Where = r.where(at, addr)
			break
		}
	}
	e.Acquire, e.Release = acquires(a.Order), releases(a.Order)
	if scope != race.NoScope || r.timeline.concerns(&e.Access) {
		r.timeline.add(e)
	}
	r.observer.Access(at, a)
	r.look()
}

func (r *recorder) where(at exec.Place, addr uint64) string {
	if exec.IsShared(addr) || exec.IsWorkspace(addr) {
		return ""
	}
	return r.run.memory.describe(addr)
}

func (r *recorder) Fence(at exec.Place, order, scope string) {
	e := r.event(at, race.Fence, scopes[scope])
	e.Acquire, e.Release = order != "release", order != "acquire"
	r.timeline.add(e)
	r.observer.Fence(at, order, scope)
}

func (r *recorder) Arrive(at exec.Place, barrier int) {
	e := r.event(at, race.Fence, race.BlockScope)
	e.Barrier = true
	r.timeline.add(e)
	r.observer.Arrive(at, barrier)
}

func (r *recorder) event(at exec.Place, kind race.Kind, scope race.Scope) Event {
	return Event{Access: access(race.Side{
		Thread: r.actor(at.Block, at.Warp), Op: &race.Operation{Kind: kind, Scope: scope, Site: at.Site},
	})}
}

// concerns reports whether an access is at a line of the finding.
func (t *timeline) concerns(a *Access) bool {
	return slices.ContainsFunc(t.finding.Sides, func(s Access) bool { return s.Module == a.Module && s.Line == a.Line })
}

// add adds an event, unless the finding was seen. Polls that repeat the event before are one.
func (t *timeline) add(e Event) {
	if t.seen || len(t.events) > 0 && t.events[len(t.events)-1] == e {
		return
	}
	t.events = append(t.events, e)
	if len(t.events) > t.most {
		t.events = t.events[1:]
	}
}

// look ends the timeline when the run has the finding.
func (r *recorder) look() {
	if t := r.timeline; !t.seen {
		t.seen = slices.ContainsFunc(r.run.detector.Findings(), func(f race.Finding) bool {
			found := r.run.finding(&f)
			return found.Key() == t.key
		})
	}
}
