#include "weft/collective/engine/bench_all_reduce.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/collective/reduce/all_reduce.h"
#include "weft/net/shm_transport.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

constexpr int kPeersMax = 64;
constexpr std::int64_t kBytesMax = std::int64_t{4} << 30;
constexpr int kWarmUps = 2;
constexpr std::int64_t kLargeBytes = 8 << 20;
// Larger than in training: all is there at once, so that nothing is won by beginning with a part.
constexpr std::size_t kBenchBucketBytes = std::size_t{4} << 20;
constexpr int kRepetitionsLarge = 9;
constexpr int kRepetitionsSmall = 300;
constexpr std::size_t kMeetingFileBytesMax = 4096;
constexpr Duration kMeetingPause = std::chrono::milliseconds(5);
// The assumed link through shared memory, for the choice of the way: the other side has to be given
// a core before it answers.
constexpr LinkProfile kSharedMemory{20e-6, 4e9, 3e-6};
// Values that the sums of up to kPeersMax ranks hold exactly.
constexpr std::int64_t kValues = 997;

// Control frames of this bench: "I am ready, and my last repetition took this long", "go".
constexpr std::uint8_t kArrival = 0xe0;
constexpr std::uint8_t kGo = 0xe1;

// As members of one machine have it.
FloatBuffer::Kind buffer_kind(const AllReduceBenchOptions& options) {
  const bool in_memory = options.transport == "shm" || options.transport == "tls+shm";
  return in_memory ? FloatBuffer::Kind::kShareable : FloatBuffer::Kind::kPrivate;
}

float input_value(std::int64_t index, int rank) {
  return static_cast<float>((index % kValues) * (rank + 1));
}

Status check_options(const AllReduceBenchOptions& options) {
  if (options.peers < 1 || options.peers > kPeersMax) {
    return invalid_argument(
        fmt::format("peers: expected 1 to {}, got {}", kPeersMax, options.peers));
  }
  if (options.bytes < 4 || options.bytes > kBytesMax || options.bytes % 4 != 0) {
    return invalid_argument(
        fmt::format("bytes: expected a multiple of 4 up to {}, got {}", kBytesMax, options.bytes));
  }
  if (options.segment_bytes < 4 ||
      options.segment_bytes > static_cast<std::int64_t>(kFrameBodyBytesMax)) {
    return invalid_argument(fmt::format("segment bytes: expected 4 to {}, got {}",
                                        kFrameBodyBytesMax, options.segment_bytes));
  }
  WEFT_TRY(parse_wire_precision(options.wire));
  WEFT_TRY(parse_algorithm(options.algorithm));
  if (!options.hosts.empty() && options.hosts.size() != static_cast<std::size_t>(options.peers)) {
    return invalid_argument(fmt::format("hosts: expected one number for each of {} peers, got {}",
                                        options.peers, options.hosts.size()));
  }
  if (options.rank.has_value() && (*options.rank < 0 || *options.rank >= options.peers)) {
    return invalid_argument(
        fmt::format("rank: expected 0 to {}, got {}", options.peers - 1, *options.rank));
  }
  return {};
}

int repetitions_of(const AllReduceBenchOptions& options) {
  if (options.repetitions > 0) return options.repetitions;
  return options.bytes >= kLargeBytes ? kRepetitionsLarge : kRepetitionsSmall;
}

// One rank: links to all others, then repetition after repetition.
class BenchRank final : public TransportHandler, private AllReduceSink {
 public:
  BenchRank(const AllReduceBenchOptions& options, int rank, std::string folder)
      : options_(options),
        rank_(rank),
        folder_(std::move(folder)),
        identity_(PeerIdentity::generate()),
        deadline_(loop_.now() + options.limit),
        rounds_(kWarmUps + repetitions_of(options)),
        elements_(options.bytes / 4),
        input_(elements_),
        result_(std::make_shared<FloatBuffer>(elements_, buffer_kind(options))) {
    for (std::int64_t i = 0; i < elements_; ++i) {
      input_.span()[static_cast<std::size_t>(i)] = input_value(i, rank_);
    }
  }
  ~BenchRank() override { transport_.reset(); }
  BenchRank(const BenchRank&) = delete;
  BenchRank& operator=(const BenchRank&) = delete;

  Result<AllReduceBenchResult> run();

 private:
  // TransportHandler.
  LinkTrust first_trust(const LinkInfo& /*link*/) override { return LinkTrust::kProved; }
  void on_link_up(const LinkInfo& /*link*/) override { ++links_; }
  void on_link_down(const PeerId& peer, const Status& why) override {
    // Once rank 0's last message is here, the others leave in any order.
    const Rank rank = rank_of(peer);
    if (finished_ && (rank != Rank(0) || go_ == rounds_)) return;
    fail(why.with_context(fmt::format("rank {}", rank.value())));
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override {
    if (lane == Lane::kBulk && core_ != nullptr) core_->on_writable(rank_of(peer));
  }
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override {
    if (type != frame_type::kSegment || core_ == nullptr) return {};
    return core_->body_destination(rank_of(from), head, body_bytes);
  }

  bool reads_body_once(std::uint8_t type) override { return type == frame_type::kSegment; }

  // AllReduceSink.
  void send(Rank to, Frame frame) override {
    const Status sent = transport_->send(id_of(to.value()), Lane::kBulk, std::move(frame));
    if (!sent.ok()) fail(sent);
  }
  std::size_t queued_bytes(Rank to) const override {
    return transport_->queued_bytes(id_of(to.value()), Lane::kBulk);
  }

  Status open_transport();
  Status meet();
  Status link();
  Status repeat(int repetition);
  void open_round(int repetition);
  Status check_result();
  // All ranks are ready for `repetition`; gives the longest time of the one before.
  Status wait_for_go(int repetition);
  Status wait(const std::function<bool()>& done, std::string_view what);
  void fail(const Status& why) {
    if (failure_.ok()) failure_ = why;
  }
  const PeerId& id_of(int rank) const { return peers_[static_cast<std::size_t>(rank)].id; }
  Rank rank_of(const PeerId& peer) const {
    const auto found = ranks_.find(peer);
    return Rank(found == ranks_.end() ? -1 : found->second);
  }
  AllReduceBenchResult summary() const;

  const AllReduceBenchOptions& options_;
  const int rank_;
  const std::string folder_;
  EventLoop loop_;
  PeerIdentity identity_;
  TimePoint deadline_;
  const int rounds_;
  std::int64_t elements_;
  FloatBuffer input_;
  std::shared_ptr<FloatBuffer> result_;
  std::vector<PeerAddress> peers_;
  std::map<PeerId, int> ranks_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<AllReduce> core_;
  Status failure_;
  int links_ = 0;
  bool finished_ = false;
  // Arrivals of the coming repetition.
  int arrived_ = 0;
  int go_ = -1;
  double own_seconds_ = 0;
  double longest_seconds_ = 0;
  std::vector<double> seconds_;
};

Status BenchRank::open_transport() {
  Result<std::unique_ptr<Transport>> made =
      invalid_argument("transport: expected tls, tls+shm, tcp or shm");
  if (options_.transport == "shm") {
    ShmOptions shm;
    shm.folder = (std::filesystem::path(folder_) / "shm").string();
    made = make_shm_transport(loop_, identity_.id(), shm);
  } else {
    WEFT_TRY_ASSIGN(const ListenOptions listen, parse_listen(options_.listen));
    ListenOptions tls = listen;
    tls.shortcuts = options_.transport == "tls+shm";
    if (options_.transport.starts_with("tls")) made = make_tls_transport(loop_, identity_, tls);
    if (options_.transport == "tcp") made = make_tcp_transport(loop_, identity_.id(), listen);
  }
  WEFT_TRY_ASSIGN(transport_, std::move(made));
  transport_->set_handler(*this);
  return {};
}

// Each rank leaves its name and endpoints in the folder, and waits for the others' files.
Status BenchRank::meet() {
  const auto path = [&](int rank) {
    return (std::filesystem::path(folder_) / fmt::format("rank-{}", rank)).string();
  };
  std::string own = to_hex(identity_.id().bytes);
  for (const std::string& endpoint : transport_->endpoints()) own += "\n" + endpoint;
  WEFT_TRY(write_file_atomically(path(rank_), as_bytes(std::string_view(own))));
  for (int rank = 0; rank < options_.peers; ++rank) {
    while (!std::filesystem::exists(path(rank))) {
      if (loop_.now() >= deadline_) return timed_out(fmt::format("rank {} does not come", rank));
      loop_.run_for(kMeetingPause);
    }
    WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path(rank), kMeetingFileBytesMax));
    std::istringstream lines(to_text(bytes));
    std::string line;
    std::getline(lines, line);
    WEFT_TRY_ASSIGN(const Bytes id, from_hex(line));
    PeerAddress peer;
    if (id.size() != peer.id.bytes.size()) return corrupt("meeting folder: expected a peer's id");
    std::copy(id.begin(), id.end(), peer.id.bytes.begin());
    while (std::getline(lines, line)) peer.endpoints.push_back(line);
    ranks_[peer.id] = rank;
    peers_.push_back(std::move(peer));
  }
  return {};
}

Status BenchRank::wait(const std::function<bool()>& done, std::string_view what) {
  const auto ready = [&] { return !failure_.ok() || done(); };
  if (!loop_.run_until(ready, deadline_ - loop_.now())) return timed_out(std::string(what));
  return failure_;
}

Status BenchRank::link() {
  for (int rank = rank_ + 1; rank < options_.peers; ++rank) {
    transport_->connect(peers_[static_cast<std::size_t>(rank)]);
  }
  return wait([&] { return links_ == options_.peers - 1; }, "linking the ranks");
}

void BenchRank::on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) {
  const Rank rank = rank_of(from);
  if (frame.type == frame_type::kSegment) {
    const Status taken = core_ == nullptr ? corrupt("a segment before the first round")
                                          : core_->on_frame(rank, frame);
    if (!taken.ok()) fail(taken);
    return;
  }
  Reader reader("bench", frame.head);
  const auto repetition = static_cast<int>(reader.u32("repetition"));
  const double seconds = reader.f64("seconds");
  if (const Status read = reader.finish(); !read.ok()) return fail(read);
  longest_seconds_ = std::max(longest_seconds_, seconds);
  if (frame.type == kArrival) ++arrived_;
  if (frame.type == kGo) go_ = repetition;
}

void BenchRank::open_round(int repetition) {
  AllReduceOptions options;
  options.id.round = Round(static_cast<std::uint64_t>(repetition) + 1);
  options.rank = Rank(rank_);
  options.size = options_.peers;
  options.segment_bytes = static_cast<std::size_t>(options_.segment_bytes);
  options.bucket_bytes = kBenchBucketBytes;
  if (options_.transport == "shm") options.link = kSharedMemory;
  options.precision = *parse_wire_precision(options_.wire);
  options.algorithm = *parse_algorithm(options_.algorithm);
  if (!options_.hosts.empty()) {
    options.algorithm = Algorithm::kHierarchical;
    options.hosts = options_.hosts;
  }
  core_ = make_all_reduce(options, elements_, *this, result_);
}

Status BenchRank::wait_for_go(int repetition) {
  const auto message = [&](std::uint8_t type, double seconds) {
    Writer writer;
    writer.u32(static_cast<std::uint32_t>(repetition)).f64(seconds);
    return Frame{type, writer.take(), {}};
  };
  if (rank_ != 0) {
    longest_seconds_ = 0;
    WEFT_TRY(transport_->send(id_of(0), Lane::kControl, message(kArrival, own_seconds_)));
    return wait([&] { return go_ == repetition; }, "waiting for rank 0");
  }
  WEFT_TRY(wait([&] { return arrived_ == options_.peers - 1; }, "waiting for the other ranks"));
  longest_seconds_ = std::max(longest_seconds_, own_seconds_);
  const double longest = std::exchange(longest_seconds_, 0.0);
  arrived_ = 0;
  for (int rank = 1; rank < options_.peers; ++rank) {
    WEFT_TRY(transport_->send(id_of(rank), Lane::kControl, message(kGo, longest)));
  }
  if (repetition > kWarmUps) seconds_.push_back(longest);
  return {};
}

Status BenchRank::repeat(int repetition) {
  // Others may receive the message and send before this rank does.
  open_round(repetition);
  WEFT_TRY(wait_for_go(repetition));
  if (rank_ != 0 && repetition > kWarmUps) seconds_.push_back(longest_seconds_);
  const TimePoint start = loop_.now();
  core_->contribute(0, input_.span());
  WEFT_TRY(wait([&] { return core_->complete(); }, "an all-reduce"));
  own_seconds_ = to_seconds(loop_.now() - start);
  WEFT_TRY(wait([&] { return core_->sent_all(); }, "sending the last segments"));
  return repetition == 0 ? check_result() : Status();
}

Status BenchRank::check_result() {
  const auto twice_the_sum = options_.peers * (options_.peers + 1);
  const float sum_of_ranks = 0.5F * static_cast<float>(twice_the_sum);
  const std::span<const float> result = std::as_const(*core_->result()).span();
  // Sums of whole numbers are exact; rounded at each hop they are near.
  const float allowed = options_.wire == "f32" ? 0.0F : 0.05F * kValues * sum_of_ranks;
  for (std::int64_t i = 0; i < elements_; ++i) {
    const float want = static_cast<float>(i % kValues) * sum_of_ranks;
    if (!(std::abs(result[static_cast<std::size_t>(i)] - want) <= allowed)) {
      return internal_error(fmt::format("all-reduce[{}]: expected {}, got {}", i, want,
                                        result[static_cast<std::size_t>(i)]));
    }
  }
  return {};
}

Result<AllReduceBenchResult> BenchRank::run() {
  WEFT_TRY(open_transport());
  WEFT_TRY(meet());
  WEFT_TRY(link());
  for (int repetition = 0; repetition < rounds_; ++repetition) WEFT_TRY(repeat(repetition));
  finished_ = true;
  WEFT_TRY(wait_for_go(rounds_));
  if (rank_ != 0) seconds_.push_back(longest_seconds_);
  // The last message must reach all before this process ends.
  const auto sent = [&] {
    for (int rank = 0; rank < options_.peers; ++rank) {
      if (rank != rank_ && transport_->queued_bytes(id_of(rank), Lane::kControl) > 0) return false;
    }
    return true;
  };
  WEFT_TRY(wait(sent, "the last word"));
  return summary();
}

AllReduceBenchResult BenchRank::summary() const {
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  AllReduceBenchResult result;
  result.peers = options_.peers;
  result.bytes = options_.bytes;
  result.transport = options_.transport;
  result.wire = options_.wire;
  result.algorithm = options_.algorithm;
  result.repetitions = static_cast<int>(sorted.size());
  result.median_seconds = sorted[sorted.size() / 2];
  result.min_seconds = sorted.front();
  const double share = 2.0 * (options_.peers - 1) / options_.peers;
  result.bus_bandwidth_gb_per_s =
      share * static_cast<double>(options_.bytes) / result.median_seconds * 1e-9;
  return result;
}

Result<AllReduceBenchResult> run_rank(const AllReduceBenchOptions& options, int rank,
                                      const std::string& folder) {
  BenchRank bench(options, rank, folder);
  return bench.run();
}

// The other ranks of a bench on this machine: forked, and never outlived.
class ForkedRanks {
 public:
  explicit ForkedRanks(const AllReduceBenchOptions& options) : options_(options) {}
  ~ForkedRanks() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  Status start() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return unavailable("cannot make " + pattern);
    folder_ = pattern;
    for (int rank = 1; rank < options_.peers; ++rank) {
      const pid_t child = ::fork();
      if (child < 0) return unavailable("cannot start another process");
      if (child == 0) {
        std::signal(SIGINT, SIG_DFL);  // the first rank answers in words, once for all
        const Result<AllReduceBenchResult> result = run_rank(options_, rank, folder_);
        if (!result.ok()) fmt::print(stderr, "rank {}: {}\n", rank, result.status().to_string());
        ::_exit(result.ok() ? EXIT_SUCCESS : EXIT_FAILURE);  // tidy: allow exit: a forked child
      }
      children_.push_back(child);
    }
    return {};
  }
  const std::string& folder() const { return folder_; }

 private:
  const AllReduceBenchOptions& options_;
  std::string folder_;
  std::vector<pid_t> children_;
};

}  // namespace

Result<AllReduceBenchResult> bench_all_reduce(const AllReduceBenchOptions& options) {
  WEFT_TRY(check_options(options));
  if (options.rank.has_value()) return run_rank(options, *options.rank, options.meeting_folder);
  ForkedRanks ranks(options);
  WEFT_TRY(ranks.start());
  return run_rank(options, 0, ranks.folder());
}

std::string to_json(const AllReduceBenchResult& result) {
  return fmt::format(
      "{{\"peers\": {}, \"bytes\": {}, \"transport\": \"{}\", "
      "\"wire\": \"{}\", \"algorithm\": \"{}\", \"repetitions\": {}, "
      "\"median_seconds\": {:.9f}, \"min_seconds\": {:.9f}, \"bus_bandwidth_gb_per_s\": {:.4f}}}",
      result.peers, result.bytes, result.transport, result.wire, result.algorithm,
      result.repetitions, result.median_seconds, result.min_seconds, result.bus_bandwidth_gb_per_s);
}

}  // namespace weft
