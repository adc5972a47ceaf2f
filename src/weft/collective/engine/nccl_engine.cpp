#include "weft/collective/engine/nccl_engine.h"

#if defined(WEFT_WITH_NCCL)

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include "weft/base/thread.h"

namespace weft {
namespace {

constexpr Duration kMeetingLimit = std::chrono::seconds(60);
constexpr Duration kPause = std::chrono::microseconds(20);

Status nccl_status(ncclResult_t code, std::string_view what) {
  if (code == ncclSuccess) return {};
  return unavailable(fmt::format("nccl {}: {}", what, ncclGetErrorString(code)));
}
Status nccl_status(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return {};
  return unavailable(fmt::format("cuda {}: {}", what, cudaGetErrorString(code)));
}

// One communicator with its stream; calls on it run one after the other.
struct Channel {
  ncclComm_t group = nullptr;
  cudaStream_t stream = nullptr;
  bool aborted = false;

  void give_up() {
    if (std::exchange(aborted, true)) return;
    ncclCommAbort(group);
    group = nullptr;
  }
};

// Floats on the GPU.
class GpuFloats {
 public:
  explicit GpuFloats(std::size_t size) {
    if (size > 0) status_ = nccl_status(cudaMalloc(&values_, size * sizeof(float)), "memory");
  }
  ~GpuFloats() {
    if (values_ != nullptr) cudaFree(values_);
  }
  GpuFloats(const GpuFloats&) = delete;
  GpuFloats& operator=(const GpuFloats&) = delete;
  float* get() const { return static_cast<float*>(values_); }
  const Status& status() const { return status_; }

 private:
  void* values_ = nullptr;
  Status status_;
};

struct Memory {
  Memory(std::size_t input_size, std::size_t output_size)
      : input(input_size), output(output_size) {}
  GpuFloats input;
  GpuFloats output;
};

class NcclWork final : public Work {
 public:
  // Takes the event, which stands behind everything that the call does.
  NcclWork(std::unique_ptr<Memory> memory, Channel& channel, cudaEvent_t event, Duration limit)
      : memory_(std::move(memory)), channel_(channel), event_(event), end_(clock_.now() + limit) {}
  ~NcclWork() override {
    if (!until(end_)) {
      channel_.give_up();
      cudaStreamSynchronize(channel_.stream);
    }
    cudaEventDestroy(event_);
  }
  bool done() override {
    if (done_) return true;
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) return false;
    status_ = nccl_status(state, "call");
    done_ = true;
    return true;
  }
  Status wait(Duration limit) override {
    if (until(std::min(clock_.now() + limit, end_))) return status_;
    return timed_out("nccl: the call did not end in time");
  }

 private:
  bool until(TimePoint when) {
    return poll_until(clock_, when, kPause, [this] { return done(); });
  }

  std::unique_ptr<Memory> memory_;
  Channel& channel_;
  cudaEvent_t event_;
  SystemClock clock_;
  const TimePoint end_;
  bool done_ = false;
  Status status_;
};

class NcclEngine final : public Engine {
 public:
  explicit NcclEngine(std::unique_ptr<Engine> meeting) : meeting_(std::move(meeting)) {}
  ~NcclEngine() override {
    for (Channel& channel : channels_) {
      if (channel.group != nullptr) ncclCommDestroy(channel.group);
      if (channel.stream != nullptr) cudaStreamDestroy(channel.stream);
    }
  }
  NcclEngine(const NcclEngine&) = delete;
  NcclEngine& operator=(const NcclEngine&) = delete;

  Status open(int gpu) {
    WEFT_TRY(nccl_status(cudaSetDevice(gpu), "device"));
    for (Channel& channel : channels_) {
      ncclUniqueId id{};
      if (rank() == 0) WEFT_TRY(nccl_status(ncclGetUniqueId(&id), "name"));
      static_assert(sizeof id % sizeof(float) == 0);
      std::array<float, sizeof id / sizeof(float)> shared{};
      std::memcpy(shared.data(), &id, sizeof id);
      WEFT_TRY(meeting_->broadcast(shared, 0, {})->wait(kMeetingLimit));
      std::memcpy(&id, shared.data(), sizeof id);
      WEFT_TRY(
          nccl_status(cudaStreamCreateWithFlags(&channel.stream, cudaStreamNonBlocking), "stream"));
      WEFT_TRY(nccl_status(ncclCommInitRank(&channel.group, size(), id, rank()), "group"));
    }
    return {};
  }

  std::string_view name() const override { return "nccl"; }
  int rank() const override { return meeting_->rank(); }
  int size() const override { return meeting_->size(); }
  void abandon() override { meeting_->abandon(); }

  std::unique_ptr<Work> all_reduce(std::span<const float> input, std::span<float> output,
                                   const CallOptions& options) override {
    return call(input, output, input.size() == output.size(), options,
                [&](const Memory& at, const Channel& on) {
                  return ncclAllReduce(at.input.get(), at.output.get(), input.size(), ncclFloat32,
                                       ncclSum, on.group, on.stream);
                });
  }
  std::unique_ptr<Work> reduce_scatter(std::span<const float> input, std::span<float> output,
                                       const CallOptions& options) override {
    const bool fits = input.size() == output.size() * static_cast<std::size_t>(size());
    return call(input, output, fits, options, [&](const Memory& at, const Channel& on) {
      return ncclReduceScatter(at.input.get(), at.output.get(), output.size(), ncclFloat32, ncclSum,
                               on.group, on.stream);
    });
  }
  std::unique_ptr<Work> all_gather(std::span<const float> input, std::span<float> output,
                                   const CallOptions& options) override {
    const bool fits = output.size() == input.size() * static_cast<std::size_t>(size());
    return call(input, output, fits, options, [&](const Memory& at, const Channel& on) {
      return ncclAllGather(at.input.get(), at.output.get(), input.size(), ncclUint32, on.group,
                           on.stream);
    });
  }
  std::unique_ptr<Work> broadcast(std::span<float> values, int root,
                                  const CallOptions& options) override {
    const bool fits = root >= 0 && root < size();
    return call(values, values, fits, options, [&](const Memory& at, const Channel& on) {
      return ncclBroadcast(at.input.get(), at.output.get(), values.size(), ncclUint32, root,
                           on.group, on.stream);
    });
  }
  std::unique_ptr<Work> barrier(const CallOptions& options) override {
    return all_reduce(nothing_, nothing_, options);
  }
  std::unique_ptr<Work> send(std::span<const float> values, int to,
                             const CallOptions& options) override {
    const bool fits = to >= 0 && to < size() && to != rank();
    return call(values, {}, fits, options, [&](const Memory& at, const Channel& on) {
      return ncclSend(at.input.get(), values.size(), ncclUint32, to, on.group, on.stream);
    });
  }
  std::unique_ptr<Work> receive(std::span<float> values, int from,
                                const CallOptions& options) override {
    const bool fits = from >= 0 && from < size() && from != rank();
    return call({}, values, fits, options, [&](const Memory& at, const Channel& on) {
      return ncclRecv(at.output.get(), values.size(), ncclUint32, from, on.group, on.stream);
    });
  }

 private:
  // Host to GPU, what `start` starts, GPU to host, all in the channel's stream.
  template <class Start>
  std::unique_ptr<Work> call(std::span<const float> input, std::span<float> output, bool fits,
                             const CallOptions& options, Start&& start) {
    if (!fits || options.channel >= kNcclChannels) {
      return ended_work(
          invalid_argument("nccl: lengths, ranks or a channel that do not fit together"));
    }
    Channel& on = channels_[options.channel];
    if (on.aborted) return ended_work(unavailable("nccl: the group was aborted"));
    auto memory = std::make_unique<Memory>(input.size(), output.size());
    cudaEvent_t event = nullptr;
    const auto begin = [&]() -> Status {
      WEFT_TRY(memory->input.status());
      WEFT_TRY(memory->output.status());
      WEFT_TRY(nccl_status(cudaMemcpyAsync(memory->input.get(), input.data(), input.size_bytes(),
                                           cudaMemcpyHostToDevice, on.stream),
                           "copy"));
      WEFT_TRY(nccl_status(start(*memory, on), "call"));
      WEFT_TRY(nccl_status(cudaMemcpyAsync(output.data(), memory->output.get(), output.size_bytes(),
                                           cudaMemcpyDeviceToHost, on.stream),
                           "copy"));
      WEFT_TRY(nccl_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event"));
      return nccl_status(cudaEventRecord(event, on.stream), "event");
    };
    const Status begun = begin();
    if (!begun.ok()) {
      cudaStreamSynchronize(on.stream);
      return ended_work(begun);
    }
    return std::make_unique<NcclWork>(std::move(memory), on, event, options.limit);
  }

  std::unique_ptr<Engine> meeting_;
  std::array<Channel, kNcclChannels> channels_;
  std::array<float, 1> nothing_{};
};

}  // namespace

bool nccl_built_in() { return true; }

Result<std::unique_ptr<Engine>> make_nccl_engine(std::unique_ptr<Engine> meeting, int gpu) {
  auto engine = std::make_unique<NcclEngine>(std::move(meeting));
  WEFT_TRY(engine->open(gpu));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace weft

#else

namespace weft {

bool nccl_built_in() { return false; }

Result<std::unique_ptr<Engine>> make_nccl_engine(std::unique_ptr<Engine> /*meeting*/, int /*gpu*/) {
  return unavailable("nccl: this program was built without it; it needs CUDA and NCCL");
}

}  // namespace weft

#endif
