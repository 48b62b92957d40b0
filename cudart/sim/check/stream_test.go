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

// work does steps of a script: "one" and "two" are streams of the rank, "host" its host code.
func (d *desk) work(script string) error {
	for _, step := range strings.Split(script, ", ") {
		var err error
		switch step {
		case "":
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
	return errors.Join(d.one.Synchronize(context.Background()), d.two.Synchronize(context.Background()))
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

// What the checker does not model is refused, and makes a report incomplete.
func TestUnmodeledCallsAreRefused(t *testing.T) {
	for want, call := range map[string]func(d *desk) error{
		"WriteValue on a stream: not modeled":                 func(d *desk) error { return d.one.WriteValue(d.own, 1) },
		"WaitValue on a stream: not modeled":                  func(d *desk) error { return d.one.WaitValue(d.own, 1) },
		"the capture of a stream: not modeled":                func(d *desk) error { _, err := d.one.Capture(nil); return err },
		"programmatic dependent launch of story: not modeled": launched(cudart.Launch{Blocks: 1, Threads: 1, PDL: true}),
		"cooperative launch of story: not modeled": launched(cudart.Launch{
			Blocks: 1, Threads: 1, Cooperative: true,
		}),
		"launch in clusters of story: not modeled": launched(cudart.Launch{Blocks: 2, Threads: 1, Cluster: 2}),
	} {
		checker, err := New(Config{Ranks: 1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := checker.Run(0, func(r *Rank) error {
			d, err := newDesk(r)
			if err != nil {
				return err
			}
			return call(d)
		})
		if !errors.Is(err, cudart.ErrNotSupported) || !slices.Contains(r.Incomplete, want) || r.Clean() {
			t.Errorf("%s: error %v, incomplete %q", want, err, r.Incomplete)
		}
	}
}

// launched launches the kernel of the stories in a shape.
func launched(shape cudart.Launch) func(d *desk) error {
	return func(d *desk) error {
		m, err := d.Device.LoadModule("story.ptx", []byte(story(map[string]string{"STORE": "st.u32", "LOAD": "ld.u32"})))
		if err != nil {
			return err
		}
		k, err := m.Kernel("story")
		if err != nil {
			return err
		}
		return d.one.Launch(k, shape, make([]byte, 20))
	}
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
