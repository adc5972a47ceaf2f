// parallel_for, parallel_pieces and parallel_team: that each index is computed once, whatever the
// threads do.
#include "weft/base/parallel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/rng.h"
#include "weft/base/thread.h"
#include "weft/base/time.h"

namespace weft::parallel_test {
namespace {

TEST(Parallel, RefusesToRunWithoutThreads) {
  const int before = thread_count();
  EXPECT_THROW(set_thread_count(0), std::invalid_argument);
  EXPECT_THROW(set_thread_count(-2), std::invalid_argument);
  EXPECT_EQ(thread_count(), before);
}

TEST(ParallelFor, CoversEachIndexOnceForAnyThreadCount) {
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const std::int64_t size : {0, 1, 5, 1000}) {
      std::vector<int> touched(static_cast<std::size_t>(size), 0);
      parallel_for(size, 10, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::count(touched.begin(), touched.end(), 1), size);
    }
  }
  set_thread_count(1);
}

TEST(ParallelFor, ABodyOfAPartAndAnotherThreadComputeAllByThemselves) {
  set_thread_count(3);
  constexpr std::int64_t kSize = 40;
  std::vector<Atomic<int>> touched(kSize);
  const auto touch_all = [&] {
    parallel_for(kSize, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
    });
  };
  Atomic<int> parts{0};
  parallel_for(3, 1, [&](std::int64_t begin, std::int64_t end) {
    parts += static_cast<int>(end - begin);
    const auto self = std::this_thread::get_id();
    parallel_for(kSize, 1, [&](std::int64_t first, std::int64_t last) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(last - first, kSize);
    });
    parallel_team(3, [&](std::int64_t part, std::int64_t size) {
      EXPECT_EQ(part, 0);
      EXPECT_EQ(size, 1);
      team_barrier();  // nobody else is there
    });
    touch_all();
  });
  EXPECT_EQ(parts, 3);
  for (const Atomic<int>& count : touched) EXPECT_EQ(count, 3);
  {
    const Thread other([&] {
      for (int i = 0; i < 200; ++i) touch_all();
    });
    for (int i = 0; i < 200; ++i) touch_all();
  }
  for (const Atomic<int>& count : touched) EXPECT_EQ(count, 403);
  set_thread_count(1);
}

// A primitive of oneDNN that was made for one thread is run in a part.
// For instance that of memory which there is not: whatever thread has the part, the caller gets it,
// and no part is under way any more.
TEST(ParallelFor, AnExceptionOfAPartReachesTheCaller) {
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (std::int64_t bad = 0; bad < threads; ++bad) {
      for (int again = 0; again < 20; ++again) {
        Atomic<int> parts{0};
        const auto body = [&](std::int64_t begin, std::int64_t end) {
          const bool throws = begin <= bad && bad < end;
          // Other parts end before the exception, or after it.
          for (int i = 0; !throws && i < again * 50; ++i) std::this_thread::yield();
          ++parts;
          if (throws) throw std::out_of_range("part " + std::to_string(bad));
        };
        try {
          parallel_for(threads, 1, body);
          FAIL() << "nothing was thrown";
        } catch (const std::out_of_range& error) {
          EXPECT_EQ(error.what(), "part " + std::to_string(bad));
        }
        EXPECT_EQ(parts.load(), threads);
      }
    }
    // All parts may fail; the next call knows nothing of it.
    const auto fails = [](std::int64_t, std::int64_t) { throw std::bad_alloc(); };
    EXPECT_THROW(parallel_for(threads, 1, fails), std::bad_alloc);
    Atomic<int> parts{0};
    parallel_for(threads, 1, [&](std::int64_t, std::int64_t) { ++parts; });
    EXPECT_EQ(parts.load(), threads);
  }
  set_thread_count(1);
}

TEST(ParallelPieces, CoverEachIndexOnceAndBeginAtMultiplesOfTheUnit) {
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    for (const std::int64_t size : {0, 1, 23, 24, 25, 1000}) {
      for (const Pieces& pieces : {Pieces{24, 4}, Pieces{1, 1}, Pieces{0, 0}, Pieces{5, 1000}}) {
        std::vector<Atomic<int>> touched(static_cast<std::size_t>(size));
        Atomic<int> odd{0};
        parallel_pieces(size, pieces, [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t unit = std::max<std::int64_t>(pieces.unit, 1);
          const bool even = begin % unit == 0 && (end % unit == 0 || end == size) && begin < end;
          const std::int64_t most = unit * std::max<std::int64_t>(pieces.at_once, 1);
          if (!even || (threads > 1 && size > unit && end - begin > most)) ++odd;
          for (std::int64_t i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(odd.load(), 0) << threads << " threads, " << size << " indexes";
        for (const Atomic<int>& count : touched) ASSERT_EQ(count.load(), 1);
      }
    }
  }
  set_thread_count(1);
}

// Whichever thread has the first or the last piece, another takes all that it leaves.
TEST(ParallelPieces, AThreadThatIsHeldUpKeepsOnlyOnePiece) {
  set_thread_count(2);
  constexpr std::int64_t kSize = 64;
  for (const std::int64_t slow : {std::int64_t{0}, kSize - 1}) {
    Atomic<std::int64_t> others{0};
    parallel_pieces(kSize, {1, 1}, [&](std::int64_t begin, std::int64_t end) {
      if (begin != slow) {
        others += end - begin;
        return;
      }
      while (others.load() < kSize - 1) std::this_thread::yield();
    });
    EXPECT_EQ(others.load(), kSize - 1);
  }
  set_thread_count(1);
}

TEST(ParallelPieces, AnExceptionReachesTheCallerWhenAllPiecesHaveEnded) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    Atomic<std::int64_t> computed{0};
    const auto fails = [&](std::int64_t begin, std::int64_t end) {
      computed += end - begin;
      if (begin <= 50 && 50 < end) throw std::bad_alloc();
    };
    EXPECT_THROW(parallel_pieces(100, {1, 2}, fails), std::bad_alloc);
    EXPECT_EQ(computed.load(), 100);
    computed = 0;
    parallel_pieces(10, {1, 2},
                    [&](std::int64_t begin, std::int64_t end) { computed += end - begin; });
    EXPECT_EQ(computed.load(), 10);
  }
  set_thread_count(1);
}

TEST(ParallelFor, OpenMpHasOneThreadWithinParts) {
  set_thread_count(3);
  const int outside = omp_get_max_threads();
  for (int call = 0; call < 50; ++call) {
    Atomic<int> most{0};
    const auto look = [&] {
      int seen = most;
      const int here = omp_get_max_threads();
      while (here > seen && !most.compare_exchange_weak(seen, here)) {
      }
    };
    parallel_for(3, 1, [&](std::int64_t /*begin*/, std::int64_t /*end*/) { look(); });
    parallel_team(3, [&](std::int64_t /*part*/, std::int64_t parts) {
      if (parts > 1) look();
    });
    EXPECT_EQ(most, 1);
    EXPECT_EQ(omp_get_max_threads(), outside);
  }
  set_thread_count(1);
}

// Between two calls workers may be asleep, awake or on their way to sleep.
TEST(ParallelFor, EveryPauseBetweenCallsIsRight) {
  set_thread_count(4);
  Rng rng(5);
  for (int call = 0; call < 400; ++call) {
    std::vector<std::int64_t> squares(16, 0);
    parallel_for(16, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        squares[static_cast<std::size_t>(i)] = i * i + call;
    });
    for (std::int64_t i = 0; i < 16; ++i) {
      ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + call);
    }
    const SystemClock clock;
    const TimePoint resume = clock.now() + std::chrono::microseconds(rng.below(90));
    while (clock.now() < resume) {
    }
  }
  set_thread_count(1);
}

// A child has none of its parent's threads.
TEST(ParallelFor, WorksInAForkedChild) {
#ifdef WEFT_TSAN
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  set_thread_count(3);
  const auto sum = [] {
    std::array<std::int64_t, 8> parts{};
    parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) parts[static_cast<std::size_t>(i)] = i;
    });
    Atomic<std::int64_t> all{std::accumulate(parts.begin(), parts.end(), std::int64_t{0})};
    parallel_team(3, [&](std::int64_t /*part*/, std::int64_t size) { all += 100 / size; });
    return all.load();
  };
  EXPECT_GE(sum(), 28 + 99);
  const pid_t child = fork();
  if (child == 0) _exit(sum() >= 28 + 99 ? 0 : 1);
  int state = 1;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_GE(sum(), 28 + 99);
  set_thread_count(1);
}

TEST(ParallelTeam, SeesWhatEveryPartWroteBeforeTheBarrier) {
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    std::vector<int> calls(8, 0);
    std::vector<std::int64_t> told(8, 0);
    parallel_team(8, [&](std::int64_t part, std::int64_t parts) {
      ++calls[static_cast<std::size_t>(part)];
      told[static_cast<std::size_t>(part)] = parts;
    });
    const std::int64_t size = told[0];
    EXPECT_LE(size, threads);
    EXPECT_EQ(std::count(calls.begin(), calls.end(), 1), size);
    EXPECT_EQ(std::count(told.begin(), told.end(), size), size);
    // Each round, a value is the sum of all values of the round before.
    constexpr std::int64_t kValues = 12;
    constexpr int kRounds = 9;
    std::array<std::vector<std::int64_t>, 2> values = {std::vector<std::int64_t>(kValues, 1),
                                                       std::vector<std::int64_t>(kValues, 0)};
    parallel_team(3, [&](std::int64_t part, std::int64_t parts) {
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::vector<std::int64_t>& from = values[round % 2];
        std::vector<std::int64_t>& to = values[(round + 1) % 2];
        for (std::int64_t i = kValues * part / parts; i < kValues * (part + 1) / parts; ++i) {
          to[static_cast<std::size_t>(i)] =
              std::accumulate(from.begin(), from.end(), std::int64_t{0});
        }
        team_barrier();
      }
    });
    const auto all = static_cast<std::int64_t>(std::pow(kValues, kRounds));
    EXPECT_EQ(values[kRounds % 2], std::vector<std::int64_t>(kValues, all));
  }
  set_thread_count(1);
}

}  // namespace
}  // namespace weft::parallel_test
