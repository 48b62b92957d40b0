// The layout of the structs that host and device share, as numbers in the PTX,
// for the test that compares them with their mirrors in Go.

#include "params.cuh"

#define LAYOUT extern "C" __device__ __attribute__((used)) const uint32_t
#define AT(type, field) (uint32_t)__builtin_offsetof(type, field)

LAYOUT limits[] = {kMaxRanks,   kMaxBlocks,  kSlotBytes,  kPacketSlotBytes, kMailboxSlotBytes,
                   kMaxRowVecs, kMaxThreads, kBulkStages, kBulkStageBytes,  kBulkSharedBytes};

LAYOUT operations[] = {kSum, kProd, kMin, kMax, kAvg};

LAYOUT phases[] = {kStartBarrier, kStageBarrier, kEndBarrier, kPackets, kMulticastBarrier};

LAYOUT params_layout[] = {
    sizeof(Params),
    AT(Params, peers),
    AT(Params, multicast),
    AT(Params, fault),
    AT(Params, timeout_ns),
    AT(Params, bytes),
    AT(Params, send_offset),
    AT(Params, send_step),
    AT(Params, recv_offset),
    AT(Params, scratch_offset),
    AT(Params, packet_offset),
    AT(Params, tile_bytes),
    AT(Params, row_bytes),
    AT(Params, weight_offset),
    AT(Params, residual_offset),
    AT(Params, residual_out_offset),
    AT(Params, scale),
    AT(Params, epsilon),
    AT(Params, rank),
    AT(Params, world),
    AT(Params, root),
    AT(Params, phase),
    AT(Params, op),
    AT(Params, reserved),
};

LAYOUT signal_pad_layout[] = {
    sizeof(SignalPad),
    AT(SignalPad, epoch),
    AT(SignalPad, claimed),
    AT(SignalPad, reserved),
    AT(SignalPad, multicast_barriers),
    AT(SignalPad, multicast_arrivals),
    AT(SignalPad, flags),
};

LAYOUT fault_layout[] = {
    sizeof(Fault),
    AT(Fault, state),
    AT(Fault, rank),
    AT(Fault, phase),
    AT(Fault, peer),
    AT(Fault, block),
    AT(Fault, expected),
    AT(Fault, seen),
    AT(Fault, reserved),
};
