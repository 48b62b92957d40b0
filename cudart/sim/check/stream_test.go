package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// desk is a rank with two streams, an event, and its memory and that of rank 0.
type desk struct {
	*Rank
	one, two  cudart.Stream
	event     cudart.Event
	graph     cudart.Graph
	own, rank cudart.DevicePtr // of this rank, and of rank 0
}

func newDesk(r *Rank) (*desk, error) {
	d := &desk{Rank: r}
	var errs [4]error
	d.one, errs[0] = r.Device.NewStream()
	d.two, errs[1] = r.Device.NewStream()
	d.event, errs[2] = r.Device.NewEvent()
	d.own, errs[3] = r.Device.Malloc(512)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	all, err := r.Share(d.own)
	if err == nil {
		d.rank = all[0]
	}
	return d, err
}

// work does steps of a script: "one" and "two" are streams of the rank, "host" its host code. What is behind "one
// captures:" up to a semicolon is captured by stream one.
func (d *desk) work(script string) error {
	before, captured, ok := strings.Cut(script, "one captures: ")
	captured, behind, _ := strings.Cut(captured, "; ")
	if err := d.steps(before); err != nil {
		return err
	}
	if ok {
		var err error
		if d.graph, err = d.one.Capture(func() error { return d.steps(captured) }); err != nil {
			return err
		}
	}
	return errors.Join(d.steps(behind), d.one.Synchronize(context.Background()), d.two.Synchronize(context.Background()))
}

func (d *desk) steps(script string) error {
	for _, step := range strings.Split(script, ", ") {
		var err error
		switch step {
		case "":
		case "one writes the word":
			err = d.one.WriteValue(d.rank+384, 1)
		case "two awaits the word":
			err = d.two.WaitValue(d.rank+384, 1)
		case "one launches the graph":
			err = d.graph.Launch(d.one)
		case "two launches the graph":
			err = d.graph.Launch(d.two)
		case "two records":
			err = d.two.Record(d.event)
		case "one waits":
			err = d.one.Wait(d.event)
		case "one fills":
			err = d.one.Fill(d.rank, 7, 100)
		case "two fills":
			err = d.two.Fill(d.rank+64, 8, 100)
		case "two copies":
			err = d.two.Copy(d.own+256, d.rank, 100)
		case "one records":
			err = d.one.Record(d.event)
		case "two waits":
			err = d.two.Wait(d.event)
		case "host synchronizes one":
			err = d.one.Synchronize(context.Background())
		case "host meets":
			err = d.Meet()
		case "host uploads by two":
			err = d.two.Upload(d.rank, make([]byte, 100))
		case "host downloads by two":
			err = d.two.Download(make([]byte, 100), d.rank)
		default:
			err = errors.New("no such step: " + step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Commands of two streams, and of two ranks, are ordered by events, by hosts that wait, and by hosts that meet.
func TestStreamsAndHosts(t *testing.T) {
	for name, c := range map[string]struct {
		zero, one string // what the ranks do
		want      []string
	}{
		"one stream":         {"two fills, two copies", "", nil},
		"no event":           {"one fills, two copies", "", []string{"fill-copy"}},
		"an event":           {"one fills, one records, two waits, two copies", "", nil},
		"an event too early": {"one records, one fills, two waits, two copies", "", []string{"fill-copy"}},
		"a wait too early":   {"two waits, one fills, one records, two copies", "", []string{"fill-copy"}},
		"two fills":          {"one fills, two fills", "", []string{"fill-fill"}},
		"the host waits":     {"one fills, host synchronizes one, two copies", "", nil},
		"an upload":          {"one fills, host uploads by two", "", []string{"fill-upload"}},
		"a download":         {"one fills, host downloads by two", "", []string{"download-fill"}},
		"ranks meet": {
			"one fills, host synchronizes one, host meets", "host meets, two copies", nil,
		},
		"ranks meet too early": {"one fills, host meets", "host meets, two copies", []string{"fill-copy"}},
		"ranks do not meet":    {"one fills", "two copies", []string{"fill-copy"}},
		"a word":               {"one fills, one writes the word", "two awaits the word, two copies", nil},
		"a word too early": {
			"one writes the word, one fills", "two awaits the word, two copies", []string{"fill-copy"},
		},
		"a wait for a word too late": {
			"one fills, one writes the word", "two copies, two awaits the word", []string{"fill-copy"},
		},
		"a graph": {"one captures: one fills, one records, two waits, two copies, two records, one waits; " +
			"one launches the graph, one launches the graph", "", nil},
		"a graph whose lanes are not in order": {
			"one captures: one records, two waits, one fills, two copies, two records, one waits; one launches the graph",
			"",
			[]string{"fill-copy"},
		},
		"replays follow one another": {
			"one captures: one fills; one launches the graph, two launches the graph", "", nil,
		},
		"a replay and another stream": {
			"one captures: one fills; one launches the graph, two copies", "", []string{"fill-copy"},
		},
		"a replay begins behind its stream": {
			"two fills, one captures: one fills; two launches the graph, two copies", "", nil,
		},
		"all lanes of a replay begin behind its stream": {
			"one captures: one records, two waits, two copies, two records, one waits; one fills, one launches the graph", "",
			nil,
		},
		"a replay does not wait for the stream of its capture": {
			"one captures: one fills; one fills, two launches the graph", "", []string{"fill-fill"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			checker, err := New(Config{Ranks: 2})
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(6) {
				r, err := checker.Run(seed, func(r *Rank) error {
					d, err := newDesk(r)
					if err != nil {
						return err
					}
					return d.work([]string{c.zero, c.one}[r.Number])
				})
				if err != nil || len(r.Incomplete) > 0 {
					t.Fatalf("seed %d: error %v, incomplete %q", seed, err, r.Incomplete)
				}
				if got := commands(r); !slices.Equal(got, c.want) {
					t.Errorf("seed %d: races %q, want %q", seed, got, c.want)
				}
			}
		})
	}
}

// commands are the pairs of commands that race, in the order of the alphabet.
func commands(r *Report) []string {
	var all []string
	for _, f := range r.Findings {
		pair := []string{f.Sides[0].Text, f.Sides[1].Text}
		slices.Sort(pair)
		if pair[0] == "copy" && pair[1] == "fill" {
			slices.Reverse(pair)
		}
		all = append(all, strings.Join(pair, "-"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Events have times, by a clock that advances with the steps of the run.
func TestEventsHaveTimes(t *testing.T) {
	checker, err := New(Config{Ranks: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checker.Run(0, func(r *Rank) error {
		d, err := newDesk(r)
		if err != nil {
			return err
		}
		end, err := r.Device.NewEvent()
		if err != nil {
			return err
		}
		if _, err := end.Since(d.event); !errors.Is(err, cudart.ErrNotReady) {
			t.Errorf("the time of an event that was not recorded: %v", err)
		}
		if err := errors.Join(d.work("one records, one fills"), d.one.Record(end), d.work("")); err != nil {
			return err
		}
		if took, err := end.Since(d.event); took <= 0 || err != nil {
			t.Errorf("a fill took %v, error %v", took, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
