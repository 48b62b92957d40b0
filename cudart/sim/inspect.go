package sim

import (
	"context"
	"fmt"

	"gpurun/cudart"
)

// inspection is a question to the device's goroutine, which answers it between two turns: the kernels then stand still.
type inspection chan []cudart.RunningKernel

// Inspect implements cudart.Inspector. Unlike other calls, it may come from any goroutine.
func (d *Device) Inspect(ctx context.Context) ([]cudart.RunningKernel, error) {
	question := make(inspection, 1)
	if !d.ask(question) {
		return nil, nil
	}
	select {
	case answer := <-question:
		return answer, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("inspecting the kernels of a device: %w", ctx.Err())
	case <-d.ended:
		return nil, nil
	}
}

// ask leaves a question for the device's goroutine; false: it has none.
func (d *Device) ask(question inspection) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == 0 {
		return false
	}
	d.questions = append(d.questions, question)
	d.notify()
	return true
}

// answer answers the questions, on the device's goroutine.
func (d *Device) answer(questions []inspection, streams []*stream) {
	if len(questions) == 0 {
		return
	}
	var all []cudart.RunningKernel
	for _, s := range streams {
		if f, ok := s.task.(*kernelTask); ok {
			for _, r := range f.active {
				k := r.grid.Inspect()
				k.Number = r.number
				all = append(all, k)
			}
		}
	}
	for _, q := range questions {
		q <- all
	}
}
