#include "weft/collective/engine/mpi_engine.h"

#if defined(WEFT_WITH_MPI)

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include "weft/base/log.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// A short call ends before the system would have put this thread to sleep and woken it again.
constexpr Duration kSpin = std::chrono::milliseconds(2);
constexpr Duration kPause = std::chrono::microseconds(50);

Status mpi_status(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return unavailable(fmt::format("mpi {}: {}", what,
                                 std::string_view(text.data(), static_cast<std::size_t>(length))));
}

class MpiWork final : public Work {
 public:
  // Takes the request.
  MpiWork(MPI_Request request, std::string_view what, Duration limit)
      : request_(request), what_(what), end_(clock_.now() + limit) {}
  ~MpiWork() override {
    if (!until(end_)) {
      log(LogLevel::kError, "mpi {}: did not end in time; the job is ended", what_);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  bool done() override {
    if (done_) return true;
    int flag = 0;
    status_ = mpi_status(MPI_Test(&request_, &flag, MPI_STATUS_IGNORE), what_);
    done_ = flag != 0 || !status_.ok();
    return done_;
  }
  Status wait(Duration limit) override {
    const TimePoint until_then = clock_.now() + limit;
    if (until(std::min(until_then, end_))) return status_;
    return timed_out(fmt::format("mpi {}: did not end in time", what_));
  }

 private:
  bool until(TimePoint when) {
    const auto ended = [this] { return done(); };
    return poll_until(clock_, std::min(when, clock_.now() + kSpin), Duration{}, ended) ||
           poll_until(clock_, when, kPause, ended);
  }

  MPI_Request request_;
  const std::string what_;
  SystemClock clock_;
  const TimePoint end_;
  bool done_ = false;
  Status status_;
};

class MpiEngine final : public Engine {
 public:
  MpiEngine() = default;
  ~MpiEngine() override {
    for (MPI_Comm& channel : channels_) {
      if (channel != MPI_COMM_NULL) MPI_Comm_free(&channel);
    }
    MPI_Finalize();
  }
  MpiEngine(const MpiEngine&) = delete;
  MpiEngine& operator=(const MpiEngine&) = delete;

  Status open() {
    for (MPI_Comm& channel : channels_) {
      WEFT_TRY(mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &channel), "channels"));
      MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN);
    }
    WEFT_TRY(mpi_status(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank"));
    return mpi_status(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size");
  }

  void abandon() override { MPI_Abort(MPI_COMM_WORLD, 1); }
  std::string_view name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Work> all_reduce(std::span<const float> input, std::span<float> output,
                                   const CallOptions& options) override {
    return call("all-reduce", options, {input.size(), output.size()}, input.size() == output.size(),
                [&](MPI_Comm channel, MPI_Request* request) {
                  const void* from = input.data() == output.data() ? MPI_IN_PLACE : input.data();
                  return MPI_Iallreduce(from, output.data(), count(input), MPI_FLOAT, MPI_SUM,
                                        channel, request);
                });
  }
  std::unique_ptr<Work> reduce_scatter(std::span<const float> input, std::span<float> output,
                                       const CallOptions& options) override {
    return call("reduce-scatter", options, {input.size(), output.size()},
                input.size() == output.size() * static_cast<std::size_t>(size_),
                [&](MPI_Comm channel, MPI_Request* request) {
                  return MPI_Ireduce_scatter_block(input.data(), output.data(), count(output),
                                                   MPI_FLOAT, MPI_SUM, channel, request);
                });
  }
  std::unique_ptr<Work> all_gather(std::span<const float> input, std::span<float> output,
                                   const CallOptions& options) override {
    // As whole numbers, so that no library looks at the values.
    return call("all-gather", options, {input.size(), output.size()},
                output.size() == input.size() * static_cast<std::size_t>(size_),
                [&](MPI_Comm channel, MPI_Request* request) {
                  return MPI_Iallgather(input.data(), count(input), MPI_UINT32_T, output.data(),
                                        count(input), MPI_UINT32_T, channel, request);
                });
  }
  std::unique_ptr<Work> broadcast(std::span<float> values, int root,
                                  const CallOptions& options) override {
    return call("broadcast", options, {values.size()}, root >= 0 && root < size_,
                [&](MPI_Comm channel, MPI_Request* request) {
                  return MPI_Ibcast(values.data(), count(values), MPI_UINT32_T, root, channel,
                                    request);
                });
  }
  std::unique_ptr<Work> barrier(const CallOptions& options) override {
    return call("barrier", options, {}, true, [](MPI_Comm channel, MPI_Request* request) {
      return MPI_Ibarrier(channel, request);
    });
  }
  std::unique_ptr<Work> send(std::span<const float> values, int to,
                             const CallOptions& options) override {
    return call("send", options, {values.size()}, to >= 0 && to < size_ && to != rank_,
                [&](MPI_Comm channel, MPI_Request* request) {
                  return MPI_Isend(values.data(), count(values), MPI_UINT32_T, to, 0, channel,
                                   request);
                });
  }
  std::unique_ptr<Work> receive(std::span<float> values, int from,
                                const CallOptions& options) override {
    return call("receive", options, {values.size()}, from >= 0 && from < size_ && from != rank_,
                [&](MPI_Comm channel, MPI_Request* request) {
                  return MPI_Irecv(values.data(), count(values), MPI_UINT32_T, from, 0, channel,
                                   request);
                });
  }

 private:
  static int count(std::span<const float> values) { return static_cast<int>(values.size()); }

  // Begins what `start` starts, if lengths and members fit.
  template <class Start>
  std::unique_ptr<Work> call(std::string_view what, const CallOptions& options,
                             std::initializer_list<std::size_t> sizes, bool fits, Start&& start) {
    if (options.channel >= kMpiChannels) {
      return ended_work(invalid_argument(fmt::format("mpi {}: channels 0 to {}, got {}", what,
                                                     kMpiChannels - 1, options.channel)));
    }
    for (const std::size_t size : sizes) {
      fits = fits && size <= static_cast<std::size_t>(std::numeric_limits<int>::max());
    }
    if (!fits) {
      return ended_work(
          invalid_argument(fmt::format("mpi {}: lengths or ranks that do not fit", what)));
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const Status begun = mpi_status(start(channels_[options.channel], &request), what);
    if (!begun.ok()) return ended_work(begun);
    return std::make_unique<MpiWork>(request, what, options.limit);
  }

  std::array<MPI_Comm, kMpiChannels> channels_ = [] {
    std::array<MPI_Comm, kMpiChannels> none{};
    none.fill(MPI_COMM_NULL);
    return none;
  }();
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

bool mpi_built_in() { return true; }

Result<std::unique_ptr<Engine>> make_mpi_engine() {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return unavailable("mpi: a process can have one engine, once");
  int provided = 0;
  WEFT_TRY(mpi_status(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start"));
  auto engine = std::make_unique<MpiEngine>();
  if (provided < MPI_THREAD_FUNNELED) return unavailable("mpi: it wants a process of one thread");
  WEFT_TRY(engine->open());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace weft

#else

namespace weft {

bool mpi_built_in() { return false; }

Result<std::unique_ptr<Engine>> make_mpi_engine() {
  return unavailable(
      "mpi: this program was built without it; install libopenmpi-dev and build again");
}

}  // namespace weft

#endif
