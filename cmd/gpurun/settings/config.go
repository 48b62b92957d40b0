// Package settings reads the settings into a checked Config. A value comes from a flag, a variable
// of the environment, a file, a fallback such as srun's variables, or a built-in profile, in this
// order. An error about a value names the source of the value.
package settings

// Config is everything that can be configured; configs/default.toml explains
// the keys. A key is also the name of a flag.
type Config struct {
	Launch `mapstructure:",squash"`

	NProcPerNode  Processes `mapstructure:"nproc-per-node"`
	Device        string    `mapstructure:"device"`
	RequireGPU    bool      `mapstructure:"require-gpu"`
	Oversubscribe bool      `mapstructure:"oversubscribe"`
	NNodes        NodeCount `mapstructure:"nnodes"`
	NodeRank      int       `mapstructure:"node-rank"`
	MasterAddr    string    `mapstructure:"master-addr"`
	MasterPort    int       `mapstructure:"master-port"`

	MinBytes    ByteSize `mapstructure:"minbytes"`
	MaxBytes    ByteSize `mapstructure:"maxbytes"`
	StepBytes   ByteSize `mapstructure:"stepbytes"`
	StepFactor  int64    `mapstructure:"stepfactor"`
	Iters       int      `mapstructure:"iters"`
	WarmupIters int      `mapstructure:"warmup-iters"`
	RunCycles   int      `mapstructure:"run-cycles"`
	Op          []string `mapstructure:"op"`
	DataType    []string `mapstructure:"datatype"`
	Check       int      `mapstructure:"check"`
	CUDAGraph   int      `mapstructure:"cudagraph"`
	Timeout     Seconds  `mapstructure:"timeout"`
	Algo        []string `mapstructure:"algo"`
	Minutes     float64  `mapstructure:"minutes"`
	Seed        uint64   `mapstructure:"seed"`
	Output      string   `mapstructure:"output"`
	OutputFile  string   `mapstructure:"output-file"`
	MinBusBW    []string `mapstructure:"min-busbw"`
	MaxLatency  []string `mapstructure:"max-latency"`
	Profile     string   `mapstructure:"profile"`
	JUnit       string   `mapstructure:"junit"`
	Prometheus  string   `mapstructure:"prometheus"`
	HTML        string   `mapstructure:"html"`
	Rounds      int      `mapstructure:"rounds"`
	Against     string   `mapstructure:"against"`
	Timing      bool     `mapstructure:"timing"`

	M             Numbers `mapstructure:"m"`
	N             Numbers `mapstructure:"n"`
	K             Numbers `mapstructure:"k"`
	SplitsPerRank Numbers `mapstructure:"splits-per-rank"`
	Trace         string  `mapstructure:"trace"`

	Root      int  `mapstructure:"root"`
	Unaligned bool `mapstructure:"unaligned"`

	// Only gpurun tune takes several epilogues and lengths of rows.
	Epilogue []string `mapstructure:"epilogue"`
	Hidden   Numbers  `mapstructure:"hidden"`
	Scale    float32  `mapstructure:"scale"`
	Epsilon  float32  `mapstructure:"epsilon"`

	Blocks    int    `mapstructure:"blocks"`
	MaxBlocks int    `mapstructure:"max-blocks"`
	Tuning    string `mapstructure:"tuning"`
	Explain   bool   `mapstructure:"explain"`
	PDL       string `mapstructure:"pdl"`
	P2P       string `mapstructure:"p2p"`
	Multicast string `mapstructure:"multicast"`
	SimSeed   uint64 `mapstructure:"sim-seed"`
	SimArch   string `mapstructure:"sim-arch"`
	SimMemory string `mapstructure:"sim-memory"`

	Symm       string `mapstructure:"symm"`
	NCCLLib    string `mapstructure:"nccl-lib"`
	NVSHMEMLib string `mapstructure:"nvshmem-lib"`
	CUBLASLib  string `mapstructure:"cublas-lib"`
}

// Read decodes the settings and checks each by itself.
func Read(s *Sources) (Config, error) {
	var c Config
	if err := s.Decode(&c); err != nil {
		return c, err
	}
	return c, check(s, c)
}
