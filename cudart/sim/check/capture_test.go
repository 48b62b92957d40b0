package check

import (
	"context"
	"errors"
	"testing"

	"gpurun/cudart"
)

// What a capture does not allow fails as on a GPU.
func TestMistakesInCaptures(t *testing.T) {
	captured := func(enqueue func(d *desk) error) func(d *desk) error {
		return func(d *desk) error {
			_, err := d.one.Capture(func() error { return enqueue(d) })
			return err
		}
	}
	for name, c := range map[string]struct {
		call func(d *desk) error
		want cudart.Result
	}{
		"a lane that is not joined back": {
			captured(func(d *desk) error { return d.steps("one records, two waits, two fills") }), cudart.ErrCaptureUnjoined,
		},
		"an event from outside": {func(d *desk) error {
			return errors.Join(d.steps("two records"), captured(func(d *desk) error { return d.steps("one waits") })(d))
		}, cudart.ErrCaptureIsolation},
		"an event of a capture that is over": {func(d *desk) error {
			return errors.Join(captured(func(d *desk) error { return d.steps("one records") })(d), d.steps("two waits"))
		}, cudart.ErrCapturedEvent},
		"two captures": {captured(func(d *desk) error {
			_, err := d.two.Capture(func() error { return d.steps("one records, two waits") })
			return err
		}), cudart.ErrCaptureMerge},
		"a capture within": {
			captured(func(d *desk) error { _, err := d.one.Capture(nil); return err }), cudart.ErrCaptureForbidden,
		},
		"a wait of the host": {
			captured(func(d *desk) error { return d.one.Synchronize(context.Background()) }), cudart.ErrCaptureForbidden,
		},
		"an upload": {
			captured(func(d *desk) error { return d.one.Upload(d.own, []byte{1}) }), cudart.ErrCaptureForbidden,
		},
		"a closed graph": {func(d *desk) error {
			g, err := d.one.Capture(func() error { return nil })
			return errors.Join(err, g.Close(), g.Launch(d.one))
		}, cudart.ErrInvalidHandle},
		"a word that is not aligned":   {func(d *desk) error { return d.one.WaitValue(d.own+2, 1) }, cudart.ErrInvalidValue},
		"a word that is in no memory":  {func(d *desk) error { return d.one.WriteValue(4, 1) }, cudart.ErrInvalidValue},
		"a graph captured by a stream": {recaptured, 0},
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
			return c.call(d)
		})
		if c.want == 0 && (err != nil || !r.Clean()) || c.want != 0 && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// recaptured captures the launch of a graph of one lane, and replays that.
func recaptured(d *desk) error {
	inner, err := d.one.Capture(func() error { return d.steps("one fills") })
	if err != nil {
		return err
	}
	outer, err := d.one.Capture(func() error { return errors.Join(inner.Launch(d.one), d.steps("one fills")) })
	if err != nil {
		return err
	}
	return errors.Join(outer.Launch(d.two), d.steps("two copies"), d.two.Synchronize(context.Background()))
}
