// Package matmul holds products of matrices that are spread over the ranks, and overlap with the communication that
// this takes.
//
// In all of them B is K x N and lies by columns, as the weight of a linear layer does: N rows of K elements. A and C
// lie by rows. Every rank has a B of its own. Elements have 16 bits; they are accumulated in fp32.
//
// # Operations and algorithms
//
// allgather-matmul gathers A, of which every rank has a shard of rows, and multiplies it by B. matmul-reducescatter
// multiplies A by B, adds the products of all ranks, and leaves a shard of rows to every rank. matmul-allreduce leaves
// the sums to all ranks. Each operation has these algorithms:
//
//   - naive: the naive collective and a naive GEMM, one after the other. It works without peer access.
//   - decomposed: a fast collective and a GEMM, one after the other. Auto takes it where there is one wave of tiles.
//   - fused: a GEMM that communicates while it multiplies. The operations that reduce also have fused_push and
//     fused_copy, which fix the way products are sent.
//   - nccl: NVIDIA's NCCL and cuBLAS, one after the other. cublas: the product alone, a bound for all others.
//
// # Kernels
//
// A GEMM is a .cu file in the folder cuda: wgmma.cu for compute capability 9.0, mma.cu for sm_80 and up, naive.cu. Its
// kernel takes tiles in some order, waits for their operands, and stores the results. Order, waits and destinations are
// those of an exchange (cuda/exchange.cuh): Product, Transposed, Gathered, Scattered or Everywhere. A module is one
// GEMM, exchange, element type and, of wgmma.cu, width of tiles. A call takes the width whose waves of tiles end first
// ([GEMM.Cost]). Of local products with a ragged M, rows and columns change places (transposed.go). Local products of
// an A of up to 128 rows, or 192, have a GEMM of their own on compute capability 9.0: skinny.cu, whose tiles and parts
// of K are chosen for each problem (skinny.go; tall.go for wider tiles; skinnytime.go says which are faster).
//
// wgmma.cu is persistent and warp-specialized: a producer thread loads operands by TMA into the stages of a pipeline,
// two warpgroups multiply (mainloop), and store warps store a staged tile by bulk copies while the next one is
// multiplied (epilogue). Tensor maps lie in the parameters. Package schedule shares the tiles of the last wave
// (split-K) and places clusters by GPC.
//
// # A gathered product
//
// No barrier begins a call. Copy engines pull the peers' shards while the kernel multiplies this rank's, a chunk at a
// time. The stream of the copies signals the peers that this rank's shard is ready, and waits for their signals; it
// writes a word of progress after each chunk, which the kernel acquires. The kernel signals when the peers' shards
// have been copied, and ends when all peers have copied this rank's shard.
//
// # A reduced product
//
// Every rank makes its peers' tiles first and sends them to their owner, in parts with the layout that they have in
// shared memory. The owner adds the parts of all ranks to its own, in rank order, when it makes that tile. A part is
// sent in one of two ways:
//
//   - Pushed: the kernel stores it in the owner's inbox and signals it by a store, since not all links have atomics.
//   - Copied: the kernel stores it in this rank's outbox. The owner's copy engine pulls it from there, a chunk of
//     parts at a time. The thread that makes the last part of a chunk signals the stream that copies it.
//
// Copies pay where blocks have as many waves of tiles as there are ranks (fused.copies). A rank signals that it has
// begun, and no rank sends to one that has not. Sums that go to all ranks cross the links, too. Where products are
// pushed among more than two ranks, a rank therefore makes a segment of each shard in turn, its own one segment later,
// so that sums leave all the time. Stored sums are counted; the thread that counts the last signals the peers, whose
// spare threads wait for that.
//
// # Files
//
// A file uses only files of the lines above its own.
//
//   - schedule/, problem.go, tensormap.go: arithmetic and the sizes of a product
//   - call.go, params.go, recording.go, modules.go, blas.go, wgmma_tiles.go: what a call is, and what a kernel reads
//     and writes
//   - runner.go, then gpcs.go and partials.go: streams, memory and placement of one rank
//   - gemm.go with chosen.go, then naive.go, mma.go, wgmma.go, skinny.go with tall.go and skinnytime.go, transposed.go
//     and the list in gemms.go: kernels that multiply
//   - multiply.go, launchplan.go, algorithm.go: a local product, the launch of a fused kernel, and what an algorithm is
//   - decomposed.go, fused.go with gather.go and pull.go, libraries.go: the algorithms
//   - record.go, checker.go: a call with the times of its tiles, and the kernel that verifies
//   - operation.go, choose.go, catalog.go: operations, the choice of auto, and the lists of all
//
// # Failures
//
// A stream cannot bound its waits, a kernel can. So every stream that waits for a peer's word has a kernel after or
// before it that waits for the same word, and releases the stream after a time-out. It ends after the released copies.
// What a rank has sent or signaled depends only on waits that were met; in later calls it sends nothing. Every word
// that a stream waits for is written by work that was enqueued before the wait, here or on a peer, as streams may
// share one hardware queue.
package matmul
