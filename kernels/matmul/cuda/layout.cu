// The layout of the structs that host and device share, as numbers in the PTX,
// for the test that compares them with their mirrors in Go.

#include "params.cuh"
#include "tile_order.cuh"
#include "trace.cuh"

#define LAYOUT extern "C" __device__ __attribute__((used)) const uint32_t
#define AT(type, field) (uint32_t)__builtin_offsetof(type, field)

LAYOUT matmul_params_layout[] = {
    sizeof(MatmulParams),
    AT(MatmulParams, a),
    AT(MatmulParams, a_full),
    AT(MatmulParams, b),
    AT(MatmulParams, c),
    AT(MatmulParams, staging),
    AT(MatmulParams, outbox),
    AT(MatmulParams, counters),
    AT(MatmulParams, progress), AT(MatmulParams, begun), AT(MatmulParams, copied),
    AT(MatmulParams, stored), AT(MatmulParams, produced), AT(MatmulParams, stored_count),
    AT(MatmulParams, partials), AT(MatmulParams, partials_ready),
    AT(MatmulParams, trace),
    AT(MatmulParams, m),
    AT(MatmulParams, n),
    AT(MatmulParams, k),
    AT(MatmulParams, chunk_rows),
    AT(MatmulParams, splits),
    AT(MatmulParams, chunk_parts),
    AT(MatmulParams, epoch),
    AT(MatmulParams, segment_tiles),
    AT(MatmulParams, full_wave_tiles), AT(MatmulParams, last_wave_tiles), AT(MatmulParams, splitk_pieces), AT(MatmulParams, splitk_slices), AT(MatmulParams, splitk_step),
    AT(MatmulParams, cluster_splits), AT(MatmulParams, stages), AT(MatmulParams, tile_columns),
    AT(MatmulParams, first_tiles),
    AT(MatmulParams, map_a), AT(MatmulParams, map_a_full), AT(MatmulParams, map_b),
    AT(MatmulParams, map_a_tail), AT(MatmulParams, map_a_full_tail), AT(MatmulParams, map_b_tail), AT(MatmulParams, map_c),
};

LAYOUT tiles_in_group[] = {kGroup};

LAYOUT check_layout[] = {
    sizeof(Check), AT(Check, b), AT(Check, out), AT(Check, rows), AT(Check, n), AT(Check, k), AT(Check, adds),
};

LAYOUT tile_times_layout[] = {
    sizeof(TileTimes),
    AT(TileTimes, row),
    AT(TileTimes, column),
    AT(TileTimes, slices),
    AT(TileTimes, wait),
    AT(TileTimes, begin),
    AT(TileTimes, end),
};
