package kernelfile

// Bundle is a kernel file with its code: all that a worker needs to run it.
type Bundle struct {
	Path string `json:"path"` // of the file
	Text []byte `json:"text"`
	// Modules are those that launches of any rank, type and operation name, by their keys: see [Code.Key].
	Modules map[string]Module `json:"modules"`
}

// Module is code of one device.
type Module struct {
	Path string `json:"path"` // where it was read, for messages
	// PTX: it is text that the driver compiles. Otherwise it is a cubin or a fatbin, which GPUs alone can run.
	PTX bool `json:"ptx"`
	// SM is the target, 10*major+minor, and Specific the suffix a. 0: not known.
	SM       int    `json:"sm"`
	Specific bool   `json:"specific"`
	Code     []byte `json:"code"`
	// Entries are the parameters of all kernels of PTX. Matches are the kernels that patterns of Code.Match stand for, by
	// the pattern with its names filled in.
	Entries map[string][]Param `json:"entries,omitempty"`
	Matches map[string]string  `json:"matches,omitempty"`
	// Bounds are what kernels of PTX demand of a launch, where they demand something.
	Bounds map[string]Bounds `json:"bounds,omitempty"`
	// Triton has what the JSON file of Triton's cache says of the launch; nil: the module is not from there.
	Triton *Triton `json:"triton,omitempty"`
}

// Param is a parameter of a kernel.
type Param struct {
	Bytes int `json:"bytes"`
	Align int `json:"align"`
}

// Triton is the launch of a kernel that Triton compiled.
type Triton struct {
	Threads int `json:"threads"`
	Shared  int `json:"shared"`
	Cluster int `json:"cluster"`
}
