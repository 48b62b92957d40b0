package matmul

import (
	"unsafe"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul/schedule"
)

// Params mirrors MatmulParams of cuda/params.cuh, where the fields are explained. A test
// compares the two layouts.
type Params struct {
	collective.Params
	A                            uint64
	AFull                        uint64
	B                            uint64
	C                            uint64
	Staging                      uint64
	Outbox                       uint64
	Counters                     uint64
	Progress                     uint64
	Begun                        uint64
	Copied                       uint64
	Stored                       uint64
	Produced                     uint64
	StoredCount                  uint64
	Partials                     uint64
	PartialsReady                uint64
	Trace                        uint64
	M                            int64
	N                            int64
	K                            int64
	ChunkRows                    int64
	Splits                       uint32
	ChunkParts                   uint32
	Epoch                        uint32
	SegmentTiles                 uint32
	FullWaveTiles, LastWaveTiles int32
	SplitKPieces, SplitKSlices   int32
	SplitKStep                   uint32
	ClusterSplits, Stages        uint32
	TileColumns                  uint32
	FirstTiles                   [schedule.MostClusters]uint8
	_                            [24]byte // tensor maps lie at multiples of cudart.TensorMapAlign
	MapA, MapAFull, MapB         encodedMap
	MapATail, MapAFullTail       encodedMap
	MapBTail, MapC               encodedMap
}

// Bytes views p as the bytes that a launch copies. They alias p.
func (p *Params) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

// checkParams mirrors Check of cuda/params.cuh.
type checkParams struct {
	A    uint64
	B    uint64
	Out  uint64
	Rows int64
	N    int64
	K    int64
	Adds uint32
	_    uint32
}

func (c *checkParams) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(c)), unsafe.Sizeof(*c))
}
