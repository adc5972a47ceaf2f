// What this processor can do at best, measured: a denominator for rates of kernels.
//
// Where it stands: behind `weft bench train --profile` and bench/roofline.
// Threads: all compute threads together (thread_count()). Other busy programs make every figure
// smaller. Fails: never.
#pragma once

#include <cstdint>
#include <functional>

namespace weft {

// Seconds of one call of `run`: the best of at least three that fit into about `duration_s`
// seconds. With one thread of processor time, which other programs lengthen less than that of a
// clock on the wall; else by the clock.
double best_seconds(const std::function<void()>& run, double duration_s = 0.5);

// f32 operations a second in independent chains of multiply-adds, two operations for each lane,
// with the instruction set in use (isa/isa.h).
double measure_peak_flops();

// Bytes a second that a[i] = b[i] + 3 c[i] reads and writes, over arrays that fit into no cache
// (192 MiB together). What a store loads before it writes is not counted, as in STREAM (McCalpin
// 1995).
double measure_triad_bandwidth();

}  // namespace weft
