// Swarm::Impl: the driver of a SwarmCore: one loop thread, and a box between it and the training
// thread. Inside this folder.
//
//   training thread (swarm.cpp)                      loop thread (swarm_loop.cpp)
//     next, begin, contribute ... -> commands ->       run_commands, the transport's handler,
//     timers turns, outcomes, events     <-   box    <-       deliver
//
// Threads: each member states its owner: it is guarded by the loop's role, by the training
// thread's, or, in the box, by a lock. A command is made on one thread and runs on the other, so it
// carries along what it needs from the first; clang rejects one that reaches back.
// Fails: see swarm.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/base/thread_role.h"
#include "weft/collective/core/swarm_core.h"
#include "weft/collective/state/state_file.h"
#include "weft/collective/swarm/background_keep.h"
#include "weft/collective/swarm/lent_state.h"
#include "weft/collective/swarm/record_file.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/net/event_loop.h"

namespace weft {

// For what the loop does at once unless it has ended or is starved.
inline constexpr Duration kAnswerLimit = std::chrono::seconds(2);
// For the links to end once the peer has left.
inline constexpr Duration kLinksCloseLimit = std::chrono::milliseconds(500);

class Swarm::Impl final : private TransportHandler {
 public:
  explicit Impl(SwarmOptions options) : options_(std::move(options)) {}
  ~Impl() override {
    // So that the last frames arrive, and the others see an orderly end.
    if (finished_) static_cast<void>(leave(kLinksCloseLimit));
    loop_.stop();
    thread_.join();
  }

  // Before there is a loop thread.
  Status start(const Ticket* ticket);

  // --- The training thread. It is the caller's, which may change as long as no two threads call at
  // a time; so nothing here checks which one it is.
  Result<Turn> next();
  void stand_in(StandIn stand_in);
  Status begin(const RoundPlan& plan);
  void contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values);
  Status report(Bytes report);
  Result<bool> early_sums(std::size_t exchange, std::span<float> sums, Duration limit);
  bool round_ended(Duration limit);
  Result<std::span<const float>> finish();
  std::span<const Bytes> reports() const {
    training_.assert_here();
    return reports_;
  }
  void applied(Round round, StateHash hash);
  void publish_state(Round round, Bytes state);
  void lend_state(StateReader read);
  Status leave(Duration limit);

  // --- Any thread.
  Result<Ticket> ticket(Duration valid_for);
  Result<std::string> join_code(const Ticket& ticket);
  // The result of `question` on the loop thread. Fails: kTimeout. The answer lives as long as
  // either side, because the loop may give it after the wait has ended.
  template <class Answer>
  Result<Answer> ask(std::function<Result<Answer>(SwarmCore&)> question,
                     Duration limit = kAnswerLimit) {
    using Slot = Guarded<std::optional<Result<Answer>>>;
    const auto answer = std::make_shared<Slot>();
    submit([this, answer, question = std::move(question)]() WEFT_REQUIRES(loop_.thread()) {
      Result<Answer> given = question(*core_);
      answer->with([&](auto& slot) { slot = std::move(given); });
    });
    const bool given =
        answer->wait_until(clock_.now() + limit, [](const auto& slot) { return slot.has_value(); });
    if (!given) return timed_out("the network thread gives no answer");
    return answer->with([](auto& slot) { return *slot; });
  }
  Result<SwarmStatus> status();
  std::vector<SwarmEvent> take_events();
  const PeerId& self() const { return options_.identity.id(); }
  void begin_group(const ViewId& view, GroupCall call, GroupEnd ended);

 private:
  // Runs on the loop thread: WEFT_REQUIRES(loop_.thread()).
  using Command = std::function<void()>;
  struct Box {
    std::vector<Command> commands;
    // A run of the commands is under way to the loop.
    bool posted = false;
    std::optional<Result<Turn>> turn;
    std::optional<RoundOutcome> outcome;
    // Those of the exchange that the training thread waits for.
    std::optional<std::pair<std::size_t, std::vector<float>>> early_sums;
    std::vector<SwarmEvent> events;
    bool left = false;
    bool closed = false;
    double wait_seconds = 0;
  };

  void submit(Command command);
  // Waits until ready(box) holds and adds the time to the waits.
  template <class Ready>
  bool wait(Duration limit, Ready&& ready);

  // --- The loop thread. The transport calls the handler's functions there.
  // Founds the run, or joins it by the ticket.
  void begin_part(const std::optional<Ticket>& ticket) WEFT_REQUIRES(loop_.thread());
  void run_commands() WEFT_REQUIRES(loop_.thread());
  void deliver() WEFT_REQUIRES(loop_.thread());
  void deliver_early_sums() WEFT_REQUIRES(loop_.thread());
  void read_lent_state(const Turn& order) WEFT_REQUIRES(loop_.thread());
  void arm_timer() WEFT_REQUIRES(loop_.thread());
  void close_links() WEFT_REQUIRES(loop_.thread());
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;
  void on_refused(const std::string& remote_endpoint, const Status& why) override;
  void on_twin(const PeerId& peer, const std::string& remote_endpoint) override;
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  bool reads_body_once(std::uint8_t type) override {
    return type == frame_type::kSegment || type == frame_type::kGroupSegment;
  }

  const SwarmOptions options_;
  const SystemClock clock_;
  EventLoop loop_;
  Guarded<Box> box_;

  // The loop thread's.
  std::unique_ptr<Transport> transport_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<StateFile> state_file_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<BackgroundKeep> state_keep_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<RecordFile> record_file_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<SwarmCore> core_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<RunPresence> presence_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint timer_at_ WEFT_GUARDED_BY(loop_.thread()) = TimePoint::max();
  TimerId timer_ WEFT_GUARDED_BY(loop_.thread());
  bool ended_ WEFT_GUARDED_BY(loop_.thread()) = false;
  std::map<std::uint64_t, GroupEnd> group_calls_ WEFT_GUARDED_BY(loop_.thread());
  // The exchange whose sums the training thread wants before the round's end.
  std::optional<std::size_t> wanted_exchange_ WEFT_GUARDED_BY(loop_.thread());

  // The training thread's.
  ThreadRole training_;
  bool requested_ WEFT_GUARDED_BY(training_) = false;
  bool begun_ WEFT_GUARDED_BY(training_) = false;
  bool reported_ WEFT_GUARDED_BY(training_) = false;
  // The exchange that the loop thread was asked for, until its sums are here.
  std::optional<std::size_t> asked_exchange_ WEFT_GUARDED_BY(training_);
  bool finished_ WEFT_GUARDED_BY(training_) = false;
  // The latest that lends no sums.
  Turn given_ WEFT_GUARDED_BY(training_);
  std::shared_ptr<FloatBuffer> sums_ WEFT_GUARDED_BY(training_);
  std::vector<Bytes> reports_ WEFT_GUARDED_BY(training_);

  // Last, so that what they use outlives them.
  LentState lent_state_;
  Thread thread_ WEFT_GUARDED_BY(training_);
  Thread hasher_ WEFT_GUARDED_BY(training_);
};

}  // namespace weft
