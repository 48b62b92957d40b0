// The parameter block of every kernel, and the structs in the memory that it points to.
//
// collective.Params, collective.SignalPad and collective.Fault mirror these
// structs in Go; layout.cu exports their layout and a Go test compares them.
#pragma once

#include "cuda.cuh"

constexpr int kMaxRanks = 72;           // the largest NVLink domain there is
constexpr int kMaxBlocks = 128;         // blocks of a grid that synchronizes with the peers
constexpr int kSlotBytes = 32 * 1024;   // of scratch; a block has two slots
constexpr int kPacketSlotBytes = 128 * 1024; // of packets; a block has two slots
constexpr int kMailboxSlotBytes = 128 * 1024;   // of mailboxes; a block has two slots
constexpr int kMaxThreads = 512;             // of a block
constexpr int kBulkStages = 6; // of shared memory for bulk copies: 6 fit into 99 KB, the least that sm_90 and up have
constexpr int kBulkStageBytes = 16 * 1024;
constexpr int kBulkSharedBytes = kBulkStages * (kBulkStageBytes + 8); // the stages, and an mbarrier for each
constexpr int kMaxRowVecs = 2048;       // vectors in a row that is normalized

struct Params {
  uint64_t peers[kMaxRanks];   // base of each rank's symmetric memory, as mapped here
  uint64_t multicast;          // base of the multicast address of the same memory, or 0
  uint64_t fault;              // Fault*, host memory
  uint64_t timeout_ns;         // bound of one wait for a peer
  int64_t bytes;               // of a part: what a rank sends to, or receives from, each other
  int64_t send_offset;         // bytes from the base to the input
  int64_t send_step;           // bytes from this rank's send_offset to the next rank's; 0 except for an allgather in place
  int64_t recv_offset;         // bytes from the base to the output
  int64_t scratch_offset;      // bytes from the base to the scratch, a multiple of 16
  int64_t packet_offset;       // bytes from the base to the packets, or to the mailboxes of a kernel that uses those, a multiple of 16
  int64_t tile_bytes;          // bytes that a block takes at a time, a multiple of 16
  int64_t row_bytes;           // of the rows of an epilogue, a multiple of 16
  int64_t weight_offset;       // bytes from the base to a row: the bias, or the weights of a norm
  int64_t residual_offset;     // bytes from the base to the residual
  int64_t residual_out_offset; // bytes from the base to where residual + result goes
  float scale;                 // of an epilogue
  float epsilon;               // of an epilogue that is a norm
  uint32_t rank;
  uint32_t world;
  uint32_t root;
  uint32_t phase; // Phase to report, of a kernel that is only a barrier
  uint32_t op;    // Operation
  uint32_t reserved;
};

// The operations of Params::op, for kernels that are compiled for any of them.
enum Operation : uint32_t { kSum, kProd, kMin, kMax, kAvg };

// SignalPad opens every rank's symmetric memory. It starts as zeros.
struct SignalPad {
  uint32_t epoch[kMaxBlocks];            // barriers that block b has passed
  uint32_t claimed;                      // not 0 once a thread owns the fault record: 1, or a mark of the call (matmul)
  uint32_t reserved[31];
  uint32_t multicast_barriers[kMaxBlocks]; // multicast barriers that block b has passed
  uint32_t multicast_arrivals[kMaxBlocks]; // arrivals of all ranks at those barriers
  uint32_t flags[kMaxBlocks][kMaxRanks]; // last epoch at which rank r's block b arrived
};

// Where a kernel waits for its peers; collective.Phase names them.
enum Phase : uint32_t {
  kStartBarrier = 1, // the peer's input is ready, its output may be written
  kStageBarrier = 2, // the peer has staged its tile
  kEndBarrier = 3,   // the peer has done all its reads and writes
  kPackets = 4,      // the peer's packets of this tile have arrived
  kMulticastBarrier = 5,
  kChunk = 6,    // a chunk has arrived, of a matrix
  kProducts = 7, // the peer's products of a tile have arrived
};

// Fault says which wait expired. The first thread whose wait expires writes it.
struct Fault {
  uint32_t state; // 1 when the rest is valid
  uint32_t rank;
  uint32_t phase;
  uint32_t peer; // kMaxRanks: the wait was for all
  uint32_t block;
  uint32_t expected; // epoch waited for, or at a multicast barrier the arrivals
  uint32_t seen;     // the value found instead
  uint32_t reserved;
};
