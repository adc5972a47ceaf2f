// parallel_for: splits a range of *outputs* over the compute threads of this process.
//
// Each index is computed by exactly one thread and by the same code for any thread count,
// so results are bit-equal for any number of threads; never sum into shared memory from the body.
// The threads are a pool of this process. Its caller computes, too, and takes the parts that no
// thread has begun when its own is done: where other programs keep the processors busy, nobody
// waits for a thread that does not run. oneDNN has OpenMP's threads, as many.
// Threads: any. While one thread's call is under way, another's computes all by itself, and so does
// a call from a body.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft {

// At least 1, or std::invalid_argument; the default is 1. Also sets oneDNN's thread count, through
// OpenMP.
void set_thread_count(int count);
int thread_count();

// How parallel_pieces cuts a range: at multiples of `unit`, and at most `at_once` units for a call.
struct Pieces {
  std::int64_t unit = 1;
  std::int64_t at_once = 1;
};

namespace internal {
using RangeBody = void (*)(void* body, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t size, std::int64_t grain, RangeBody call, void* body);
template <class Body>
void call_range(void* body, std::int64_t begin, std::int64_t end) {
  (*static_cast<Body*>(body))(begin, end);
}
void parallel_pieces(std::int64_t size, const Pieces& pieces, RangeBody call, void* body);
using TeamBody = void (*)(void* body, std::int64_t part, std::int64_t parts);
void parallel_team(std::int64_t threads, TeamBody call, void* body);
}  // namespace internal

// Calls body(begin, end) on disjoint ranges that cover [0, size). Ranges hold at least `grain`
// indexes, so that small work stays on the calling thread. Throws what a body throws, the first of
// several, when all parts have ended.
template <class Body>
void parallel_for(std::int64_t size, std::int64_t grain, Body&& body) {
  internal::parallel_ranges(size, grain, internal::call_range<std::remove_reference_t<Body>>,
                            const_cast<void*>(static_cast<const void*>(&body)));
}

// Like parallel_for with a grain of one unit, but a thread takes its part piece by piece, and when
// it is done takes pieces that others have not begun: so all end together where one core is slower
// than another. For long work whose body costs little to call. A range that one thread computes
// alone is one piece.
template <class Body>
void parallel_pieces(std::int64_t size, const Pieces& pieces, Body&& body) {
  internal::parallel_pieces(size, pieces, internal::call_range<std::remove_reference_t<Body>>,
                            const_cast<void*>(static_cast<const void*>(&body)));
}

// Calls body(part, parts) for each part in [0, parts) on a thread of its own, all at the same time:
// parts is at most `threads` and thread_count(), and less where threads do not come at once. For
// work whose threads wait for each other, in team_barrier(). The body must not throw, and must give
// the same bits for any number of parts.
template <class Body>
void parallel_team(std::int64_t threads, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::parallel_team(
      threads,
      [](void* object, std::int64_t part, std::int64_t parts) {
        (*static_cast<Plain*>(object))(part, parts);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}
// Waits until each thread of the team has called it as often: what others wrote before is seen
// then. REQUIRES: the calling thread runs a body of parallel_team, and every part calls it equally
// often.
void team_barrier();

}  // namespace weft
