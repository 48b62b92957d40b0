package check

// Model is the memory model by which accesses are judged.
type Model uint8

// The models. Package race describes both.
const (
	// ModelHardware is what current GPUs do, and what protocols such as LL rest on.
	ModelHardware Model = iota
	// ModelPTX is what PTX promises. What it forbids and ModelHardware allows is a finding with Note.
	ModelPTX
)
