package worker

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// sweep is the job in terms of the catalog.
type sweep struct {
	collective *collective.Collective
	cases      []testCase
}

// testCase is one measurement to make.
type testCase struct {
	algorithm *collective.Algorithm
	dtype     collective.DType
	op        collective.Op
	count     int64 // elements
	inPlace   bool
}

func (c testCase) bytes() int64 { return c.count * int64(c.dtype.Size) }

// String reads "allreduce oneshot float sum, 4096 bytes in place".
func (c testCase) String() string {
	place := "out of place"
	if c.inPlace {
		place = "in place"
	}
	return fmt.Sprintf("%s %s %s %s, %d bytes %s", c.algorithm.Collective, c.algorithm.Name, c.dtype.Name, c.op, c.bytes(), place)
}

// UsageError is a job that makes no sense.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// plan turns the job's words into cases.
func (r *rank) plan() (err error) {
	r.sweep, err = planSweep(r.Job, r.WorldSize)
	return err
}

// Check says why a job cannot run on so many ranks, as a *UsageError, or nil.
func (j Job) Check(world int) error {
	_, err := planSweep(j, world)
	return err
}

func planSweep(job Job, world int) (sweep, error) {
	c, ok := kernels.Find(job.Collective)
	if !ok {
		return sweep{}, &UsageError{fmt.Sprintf("there is no collective %q", job.Collective)}
	}
	s := sweep{collective: c}
	if err := job.checkInjections(world); err != nil {
		return sweep{}, err
	}
	for range max(job.Cycles, 1) {
		for _, algorithm := range job.Algorithms {
			for _, dtype := range job.DTypes {
				for _, op := range job.Ops {
					if err := s.add(job, world, algorithm, dtype, op); err != nil {
						return sweep{}, err
					}
				}
			}
		}
	}
	return s, nil
}

// add appends the cases of all sizes, each out of place and in place.
func (s *sweep) add(job Job, world int, algorithm, dtype, op string) error {
	d, ok := collective.ParseDType(dtype)
	if !ok {
		return &UsageError{fmt.Sprintf("there is no element type %q", dtype)}
	}
	o, ok := collective.ParseOp(op)
	if !ok {
		return &UsageError{fmt.Sprintf("there is no operation %q", op)}
	}
	for _, bytes := range job.Sizes {
		c := testCase{dtype: d, op: o, count: bytes / int64(d.Size)}
		var err error
		if c.algorithm, err = s.choose(algorithm, world, c); err != nil {
			return err
		}
		inPlace := c
		inPlace.inPlace = true
		s.cases = append(s.cases, c, inPlace)
	}
	return nil
}

// choose finds the algorithm by name, or for "auto" the one for the size.
func (s *sweep) choose(name string, world int, c testCase) (*collective.Algorithm, error) {
	call := collective.Call{Count: c.count, DType: c.dtype, Op: c.op}
	if name == "auto" {
		name = s.collective.Choose(world, call)
	}
	a, ok := s.collective.Algorithm(name)
	if !ok {
		return nil, &UsageError{fmt.Sprintf("%s has no algorithm %q", s.collective.Name, name)}
	}
	if err := a.Check(call, world); err != nil {
		return nil, &UsageError{err.Error()}
	}
	return a, nil
}

// layout makes room for the largest case.
func (s *sweep) layout(world, sms int) layout {
	var scratch, buffer int64
	for _, c := range s.cases {
		buffer = max(buffer, c.bytes())
		if c.algorithm.ScratchBytes != nil {
			scratch = max(scratch, c.algorithm.ScratchBytes(world, c.bytes()))
		}
	}
	return layOut(scratch, buffer, sms)
}

// runsOn says why a device is too old for the sweep.
func (s *sweep) runsOn(d cudart.Info) error {
	for _, c := range s.cases {
		least := c.algorithm.MinSM(c.dtype, c.op, collective.NoEpilogue)
		if have := 10*d.Major + d.Minor; have < least {
			return &UnsupportedDevice{d, fmt.Sprintf("%s %s needs compute capability %d.%d",
				c.algorithm.Collective, c.algorithm.Name, least/10, least%10)}
		}
	}
	return nil
}

// UnsupportedDevice is a device that cannot run the job's kernels.
type UnsupportedDevice struct {
	Device cudart.Info
	Needs  string
}

func (e *UnsupportedDevice) Error() string {
	return fmt.Sprintf("%s has compute capability %d.%d, and %s", e.Device.Name, e.Device.Major, e.Device.Minor, e.Needs)
}

// runSweep makes all measurements, in step with the peers.
func (r *rank) runSweep(ctx context.Context) error {
	for i, c := range r.sweep.cases {
		if err := r.Reports.Progress(i, len(r.sweep.cases)); err != nil {
			return err
		}
		mine, err := r.measure(ctx, c)
		if err != nil { // the phase names the case
			return err
		}
		if err := r.share(ctx, c, mine); err != nil {
			return err
		}
	}
	return nil
}
