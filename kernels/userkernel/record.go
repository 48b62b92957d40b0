package userkernel

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// recorder notes the steps of a call for its timeline. Without a StepRecorder it does nothing.
type recorder struct {
	*collective.StepRecorder
	stream cudart.Stream
	call   kernelfile.Call
}

// start enqueues a barrier of all ranks, from which times count, and the event behind it. What it is called behind may
// wait for the stream.
func (r recorder) start(st *state) error {
	if r.StepRecorder == nil {
		return nil
	}
	if err := barrier.Meet(st.comm, r.stream, collective.StartBarrier); err != nil {
		return err
	}
	return r.Start(r.stream)
}

// step notes that a step has been enqueued.
func (r recorder) step(b *boundStep) error {
	if r.StepRecorder == nil {
		return nil
	}
	times := collective.StepTimes{Kind: collective.BarrierStep, Name: "barrier", Line: b.Step.Line}
	switch step := b.Step; {
	case step.Launch != nil:
		times.Kind, times.Name = collective.LaunchStep, b.Entry
		if step.Launch.Match.Text != "" { // the entry is a mangled name
			times.Name = step.Launch.Match.Fill(r.call)
		}
	case step.Fill != nil:
		times.Kind, times.Name = collective.FillStep, "fill "+step.Fill.Buffer.Text
	case step.Copy != nil:
		times.Kind = collective.CopyStep
		times.Name = fmt.Sprintf("copy %s to %s", step.Copy.From.Text, step.Copy.To.Text)
	}
	return r.Done(r.stream, times)
}

// reset notes that a buffer has got its initial value, or that the ranks have met before or behind that: a step of the
// line of the file that says so.
func (r recorder) reset(kind, name string, line int) error {
	if r.StepRecorder == nil {
		return nil
	}
	return r.Done(r.stream, collective.StepTimes{Kind: kind, Name: name, Line: line})
}
