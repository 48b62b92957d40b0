package symm

import (
	"context"

	"gpurun/cudart"
)

// private is memory of the own device that no peer maps.
type private struct{ dev cudart.Device }

func privateCandidates(dev cudart.Device, _ *Memory) []backend { return []backend{private{dev}} }

func (private) kind() Kind  { return Private }
func (private) how() string { return "no rank maps another's memory" }

func (b private) malloc(bytes int64) (cudart.DevicePtr, error) { return b.dev.Malloc(bytes) }
func (private) export(cudart.DevicePtr) (handle, error)        { return handle{}, nil }
func (private) open(int, handle) (cudart.DevicePtr, error)     { return 0, nil }
func (private) unmap(cudart.DevicePtr) error                   { return nil }
func (b private) free(ptr cudart.DevicePtr) error              { return b.dev.Free(ptr) }

// exchange has nothing to exchange.
func (private) exchange(_ context.Context, ex Exchange, _ handle) ([]handle, error) {
	return make([]handle, ex.WorldSize()), nil
}
