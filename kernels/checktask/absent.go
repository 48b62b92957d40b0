package checktask

import (
	"context"
	"errors"
	"time"

	"gpurun/cudart/sim/check"
)

// absentTimeout bounds waits for a rank that never comes.
const absentTimeout = time.Second

// Absent is what a rank does if the last rank makes no call, so that waits for it expire. The other ranks make two
// calls of the first count, one right behind the other: the second has to notice that the first has failed. The
// checker's Config.Expire lets waits expire. Nothing is compared, because calls that fail have no result.
func (c *Calls) Absent(on *check.Rank) (err error) {
	r := &rank{Calls: c, Rank: on, timeout: absentTimeout}
	if err := r.join(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.comm.Close()) }()
	if r.stream, err = on.Device.NewStream(); err != nil {
		return err
	}
	x := r.exchange()
	if err := errors.Join(r.load(), x.prepare(), r.stream.Synchronize(context.Background()), on.Meet()); err != nil {
		return err
	}
	if on.Number < on.World-1 {
		err = errors.Join(x.enqueue(0), r.Algorithm.Enqueue(r.comm, r.stream, r.call(0)),
			r.stream.Synchronize(context.Background()))
	}
	return errors.Join(err, on.Meet())
}

// Absent is [Calls.Absent] for products.
func (p *Products) Absent(on *check.Rank) (err error) {
	m := &multiplier{Products: p, Rank: on, timeout: absentTimeout}
	if err := m.join(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.comm.Close()) }()
	if err := errors.Join(m.prepare(), on.Meet()); err != nil {
		return err
	}
	if on.Number < on.World-1 {
		err = errors.Join(m.enqueue(0), m.runner.Enqueue(m.Algorithm, m.call(0)),
			m.runner.Main.Synchronize(context.Background()))
	}
	return errors.Join(err, on.Meet())
}
