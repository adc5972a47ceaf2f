#include "weft/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <omp.h>
#include <pthread.h>

#include "weft/base/core/piece_range.h"

namespace weft {
namespace {

using internal::PieceRange;
using std::chrono::microseconds;

int configured_threads = 1;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// How many threads a call of oneDNN has outside of parts.
int openmp_threads() {
#ifdef WEFT_TSAN
  return 1;  // libgomp is not built for ThreadSanitizer: its barriers look like races
#else
  return configured_threads;
#endif
}

// A worker waits this long for its next part before it sleeps: longer than from one operation to
// the next, and short beside what the system takes to give the processor to another program.
constexpr microseconds kSpin{50};

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until ready(), at most kSpin; returns whether it is.
template <class Ready>
bool spin_until(const Ready& ready) {
  constexpr int kChecks = 32;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kChecks; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// Waits until ready(value), which a change of `value` makes true and a notification follows. A
// thread that was woken too late spins again, for the next change.
template <class Ready>
void wait_until(const std::atomic<std::uint32_t>& value, const Ready& ready) {
  const auto is_ready = [&] { return ready(value.load(std::memory_order_acquire)); };
  while (!spin_until(is_ready)) {
    const std::uint32_t seen = value.load(std::memory_order_acquire);
    if (ready(seen)) return;
    value.wait(seen, std::memory_order_acquire);
  }
}

// The threads of a team wait for each other here.
class Barrier {
 public:
  void open(std::uint32_t threads) {
    threads_ = threads;
    arrived_.store(0, std::memory_order_relaxed);
  }
  void wait() {
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      turn_.notify_all();
      return;
    }
    wait_until(turn_, [turn](std::uint32_t now) { return now != turn; });
  }

 private:
  std::uint32_t threads_ = 1;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> turn_{0};
};

// Whether this thread is at work on a part, in which further parts are its own.
thread_local bool at_work = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
// The team in which it is, if that has other threads.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Barrier* team = nullptr;

// While one lives, this thread computes parts. Within them oneDNN has this thread alone: threads
// of OpenMP's would share the memory of a primitive that was made for one.
class AtWork {
 public:
  AtWork() {
    at_work = true;
    omp_set_num_threads(1);
  }
  ~AtWork() {
    omp_set_num_threads(openmp_threads());
    at_work = false;
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

// One worker for each part of a job but the first, which is the caller's. A part that its worker
// has not begun when the caller has done its own is the caller's, too: it waits only for what is
// under way, never for a thread that the system keeps from running.
class ComputePool {
 public:
  // A size in units, of which a thread takes at most so many at once.
  struct Cut {
    std::int64_t size = 0;
    std::int64_t unit = 1;
    std::int64_t units = 0;
    std::uint32_t at_once = 1;
  };

  // One job at a time: false if another thread's is under way, or if this is a part of one.
  bool enter() { return !at_work && !busy_.test_and_set(std::memory_order_acquire); }
  void leave() { busy_.clear(std::memory_order_release); }

  // REQUIRES: enter(), for both. Returns the first exception of a part, when all have ended.
  std::exception_ptr run(std::int64_t size, std::int64_t parts, internal::RangeBody call,
                         void* body) {
    const auto begin_of = [&](std::int64_t part) { return size * part / parts; };
    start();
    for (std::int64_t part = 1; part < parts; ++part) {
      offer(part, {call, body, begin_of(part), begin_of(part + 1), Kind::kRange});
    }
    std::uint32_t theirs = 0;
    {
      const AtWork here;
      compute({call, body, 0, begin_of(1), Kind::kRange});
      for (std::int64_t part = parts - 1; part > 0; --part) {
        if (take(part)) {
          compute({call, body, begin_of(part), begin_of(part + 1), Kind::kRange});
        } else {
          ++theirs;
        }
      }
    }
    finish(theirs);
    return take_error();
  }

  // The same in pieces; `cut` has at least as many units as there are parts.
  std::exception_ptr run_pieces(const Cut& cut, std::int64_t parts, internal::RangeBody call,
                                void* body) {
    cut_ = cut;
    parts_ = parts;
    const auto begin_of = [&](std::int64_t part) {
      return static_cast<std::uint32_t>(cut.units * part / parts);
    };
    for (std::int64_t part = 0; part < parts; ++part) {
      left_of(part).set({begin_of(part), begin_of(part + 1)});
    }
    start();
    for (std::int64_t part = 1; part < parts; ++part) {
      offer(part, {call, body, part, 0, Kind::kPieces});
    }
    std::uint32_t theirs = 0;
    {
      const AtWork here;
      compute_pieces({call, body, 0, 0, Kind::kPieces});
    }
    for (std::int64_t part = parts - 1; part > 0; --part) theirs += take(part) ? 0U : 1U;
    finish(theirs);
    return take_error();
  }

  // Those that do not come within kSpin have no part.
  void run_team(std::int64_t threads, internal::TeamBody call, void* body) {
    job_.joined.store(1, std::memory_order_relaxed);
    job_.team.store(0, std::memory_order_relaxed);
    start();
    for (std::int64_t part = 1; part < threads; ++part) {
      offer(part, {call, body, 0, 0, Kind::kTeam});
    }
    const auto wanted = static_cast<std::uint32_t>(threads);
    spin_until([&] { return job_.joined.load(std::memory_order_relaxed) == wanted; });
    std::uint32_t parts = wanted;
    for (std::int64_t part = threads - 1; part > 0; --part) {
      if (take(part)) --parts;
    }
    job_.barrier.open(parts);
    job_.team.store(parts, std::memory_order_release);
    job_.team.notify_all();
    run_team_part({call, body, 0, parts, Kind::kTeam});
    finish(parts - 1);
  }

  // As many parts as there are threads for, of those that are wanted.
  std::int64_t grow(std::int64_t wanted) {
    try {
      while (static_cast<std::int64_t>(workers_.size()) < wanted - 1) add_worker();
    } catch (const std::system_error&) {
      // The system has no more threads: those that there are do all of it.
    }
    return std::min(wanted, static_cast<std::int64_t>(workers_.size()) + 1);
  }

 private:
  enum class Kind : unsigned char { kRange, kPieces, kTeam };
  struct Part {
    internal::RangeBody call = nullptr;  // a TeamBody is the same type
    void* body = nullptr;
    std::int64_t begin = 0;  // for kPieces: the number of the part
    std::int64_t end = 0;
    Kind kind = Kind::kRange;
  };
  // With all that its worker needs in one line of memory, which is one journey from core to core.
  struct alignas(64) Offer {
    // The job of which this worker may take the part; 0: none.
    std::atomic<std::uint32_t> token{0};
    Part part;
  };
  static_assert(sizeof(Offer) == 64);
  struct Worker {
    Offer offer;
    PieceRange left;  // of the part that it is offered, if that is one of pieces
  };
  // In a line that the caller only reads, but for teams.
  struct alignas(64) Job {
    // Parts that workers have done, of all jobs.
    std::atomic<std::uint32_t> done{0};
    // The threads of a team that have come, and how many it has once that is known.
    std::atomic<std::uint32_t> joined{0};
    std::atomic<std::uint32_t> team{0};
    Barrier barrier;
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // of the part that set `failed`
  };

  // A worker gets no signals, which are for the program's own threads.
  void add_worker() {
    auto made = std::make_unique<Worker>();
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this, from = &made->offer] { work(*from); }).detach();
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    workers_.push_back(std::move(made));
  }

  void start() {
    if (++token_ == 0) ++token_;
  }
  // Waits until workers have done so many parts of the job.
  void finish(std::uint32_t parts) {
    done_before_ += parts;
    wait_until(job_.done, [this](std::uint32_t done) { return done == done_before_; });
  }

  void offer(std::int64_t part, const Part& what) {
    Offer& to = workers_[static_cast<std::size_t>(part - 1)]->offer;
    to.part = what;
    to.token.store(token_, std::memory_order_release);
    to.token.notify_one();
  }

  // Whether the part was still on offer.
  bool take(std::int64_t part) {
    std::uint32_t token = token_;
    return workers_[static_cast<std::size_t>(part - 1)]->offer.token.compare_exchange_strong(
        token, 0, std::memory_order_acq_rel);
  }

  void compute(const Part& part) {
    try {
      part.call(part.body, part.begin, part.end);
    } catch (...) {
      if (!job_.failed.exchange(true)) job_.error = std::current_exception();
    }
  }

  PieceRange& left_of(std::int64_t part) {
    return part == 0 ? callers_left_ : workers_[static_cast<std::size_t>(part - 1)]->left;
  }

  // Its own pieces, and then what others have not begun.
  void compute_pieces(const Part& part) {
    const auto run_all = [&](auto&& next) {
      for (PieceRange::Piece piece = next(); !piece.empty(); piece = next()) {
        compute({part.call, part.body, piece.begin * cut_.unit,
                 std::min(piece.end * cut_.unit, cut_.size), Kind::kRange});
      }
    };
    run_all([&] { return left_of(part.begin).take_front(cut_.at_once); });
    for (std::int64_t i = 1; i < parts_; ++i) {
      PieceRange& others = left_of((part.begin + i) % parts_);
      run_all([&] { return others.take_back(cut_.at_once); });
    }
  }

  std::exception_ptr take_error() {
    if (!job_.failed.load(std::memory_order_relaxed)) return nullptr;
    job_.failed.store(false, std::memory_order_relaxed);
    return std::exchange(job_.error, nullptr);
  }

  void work(Offer& from) {
    for (;;) {
      wait_until(from.token, [](std::uint32_t token) { return token != 0; });
      std::uint32_t token = from.token.load(std::memory_order_acquire);
      if (token == 0 || !from.token.compare_exchange_strong(token, 0, std::memory_order_acq_rel)) {
        continue;  // the caller has taken it
      }
      const Part part = from.part;
      if (part.kind == Kind::kTeam) {
        join_team(part);
      } else {
        const AtWork here;
        part.kind == Kind::kPieces ? compute_pieces(part) : compute(part);
      }
      job_.done.fetch_add(1, std::memory_order_release);
      job_.done.notify_one();
    }
  }

  void join_team(Part part) {
    part.begin = job_.joined.fetch_add(1, std::memory_order_relaxed);
    wait_until(job_.team, [](std::uint32_t parts) { return parts != 0; });
    part.end = job_.team.load(std::memory_order_relaxed);
    run_team_part(part);
  }

  // Part `begin` of `end`.
  void run_team_part(const Part& part) {
    const AtWork here;
    team = part.end > 1 ? &job_.barrier : nullptr;
    part.call(part.body, part.begin, part.end);
    team = nullptr;
  }

  std::atomic_flag busy_;
  Job job_;
  std::uint32_t token_ = 0;
  std::uint32_t done_before_ = 0;  // parts that workers have done, or will have after this job
  std::vector<std::unique_ptr<Worker>> workers_;
  // The job that is cut into pieces, and what is left of the caller's part.
  Cut cut_;
  std::int64_t parts_ = 0;
  PieceRange callers_left_;
};

// Never destroyed, because its workers sleep there when the program ends.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<ComputePool*> current_pool{nullptr};

// A forked child has none of its parent's threads, so it makes a pool of its own.
void forget_pool() {
  at_work = false;
  team = nullptr;
  current_pool.store(nullptr, std::memory_order_relaxed);
}

ComputePool& pool() {
  ComputePool* found = current_pool.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  static const int handler = pthread_atfork(nullptr, nullptr, forget_pool);
  static_cast<void>(handler);
  auto made = std::make_unique<ComputePool>();
  if (!current_pool.compare_exchange_strong(found, made.get())) return *found;
  return *made.release();
}

}  // namespace

void set_thread_count(int count) {
  if (count < 1) {
    throw std::invalid_argument("[set_thread_count] expected at least 1 thread, got " +
                                std::to_string(count));
  }
  configured_threads = count;
  omp_set_dynamic(0);
  omp_set_num_threads(openmp_threads());
}

int thread_count() { return configured_threads; }

namespace internal {

void parallel_ranges(std::int64_t size, std::int64_t grain, RangeBody call, void* body) {
  if (size <= 0) return;
  std::int64_t parts =
      std::clamp<std::int64_t>(size / std::max<std::int64_t>(grain, 1), 1, configured_threads);
  if (parts == 1 || !pool().enter()) {
    call(body, 0, size);
    return;
  }
  parts = pool().grow(parts);
  const std::exception_ptr error = pool().run(size, parts, call, body);
  pool().leave();
  if (error != nullptr) std::rethrow_exception(error);
}

void parallel_pieces(std::int64_t size, const Pieces& pieces, RangeBody call, void* body) {
  if (size <= 0) return;
  // Pieces are counted in 32 bits.
  const std::int64_t unit = std::max({pieces.unit, size >> 30U, std::int64_t{1}});
  const std::int64_t units = (size - 1) / unit + 1;
  std::int64_t parts = std::clamp<std::int64_t>(size / unit, 1, configured_threads);
  if (parts == 1 || !pool().enter()) {
    call(body, 0, size);
    return;
  }
  parts = pool().grow(parts);
  const auto at_once =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(pieces.at_once, 1, units));
  const std::exception_ptr error =
      pool().run_pieces({size, unit, units, at_once}, parts, call, body);
  pool().leave();
  if (error != nullptr) std::rethrow_exception(error);
}

void parallel_team(std::int64_t threads, TeamBody call, void* body) {
  const std::int64_t parts = std::clamp<std::int64_t>(threads, 1, configured_threads);
  if (parts == 1 || !pool().enter()) {
    call(body, 0, 1);
    return;
  }
  pool().run_team(pool().grow(parts), call, body);
  pool().leave();
}

}  // namespace internal

void team_barrier() {
  if (team != nullptr) team->wait();
}

}  // namespace weft
