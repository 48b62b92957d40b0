// The layout of the structs that host and device share, as numbers in the PTX,
// for the test that compares them with their mirrors in Go.

#include "params.cuh"

#define LAYOUT extern "C" __device__ __attribute__((used)) const uint32_t
#define AT(type, field) (uint32_t)__builtin_offsetof(type, field)

LAYOUT limits[] = {kMaxRanks, kMaxBlocks, kSlotBytes};

LAYOUT params_layout[] = {
    sizeof(Params),
    AT(Params, peers),
    AT(Params, fault),
    AT(Params, timeout_ns),
    AT(Params, count),
    AT(Params, send_offset),
    AT(Params, recv_offset),
    AT(Params, scratch_offset),
    AT(Params, tile_bytes),
    AT(Params, rank),
    AT(Params, world),
    AT(Params, phase),
    AT(Params, reserved),
};

LAYOUT signal_pad_layout[] = {
    sizeof(SignalPad),
    AT(SignalPad, epoch),
    AT(SignalPad, claimed),
    AT(SignalPad, reserved),
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
