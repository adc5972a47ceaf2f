#include "weft/mix/mix_member.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "weft/base/log.h"
#include "weft/base/thread.h"
#include "weft/wire/frame_type.h"

namespace weft {
namespace {

constexpr Duration kMixLastWords = std::chrono::milliseconds(500);
constexpr Duration kMixPartingMax = std::chrono::minutes(1);
// The founder says that too few have come; one that comes last waits a little longer for it.
constexpr Duration kFounderFirst = std::chrono::minutes(1);

}  // namespace

class MixMember::Impl final : public LooseMember {
 public:
  explicit Impl(MixMemberOptions options)
      : LooseMember(options.member), options_(std::move(options)) {}
  ~Impl() override {
    static_cast<void>(leave(kMixLastWords));
    end_loop();
  }

  Status start();

  // --- The caller's thread.
  Result<MixTurn> wait_turn(Duration limit);
  void begin(MixVector first, MixTools tools);
  void worked(std::uint64_t id, MixVector model, const MixLoss& loss);
  Status leave(Duration limit);

  // --- Any thread.
  bool is_founder() const { return !options_.member.ticket; }
  Result<MixStatus> status();
  MixNews take_news() {
    return box_.with([](Box& box) { return std::exchange(box.news, {}); });
  }

 private:
  struct Box {
    MixPhase phase = MixPhase::kGathering;
    std::uint32_t self = 0;
    std::optional<MixWork> work;
    MixVector result;
    MixNews news;
    bool parted = true;
    Status fatal;
  };

  // --- The loop thread.
  void on_admitted(const PeerId& peer) override;
  void on_gone(const PeerId& peer, const Status& why, bool was_linked) override;
  void on_member_frame(const PeerId& from, const FrameView& frame) override;
  void on_room(const PeerId& peer) override {
    loop_.thread().assert_here();
    if (node_) node_->writable(peer);
  }
  void on_tick(TimePoint now) override;
  std::optional<TimePoint> core_deadline() const override {
    loop_.thread().assert_here();
    if (!roster_.empty()) return node_ ? node_->next_deadline() : std::nullopt;
    return start_until_;
  }
  bool settle_core() override;
  bool seeks_sponsors() const override {
    loop_.thread().assert_here();
    return roster_.empty();
  }
  void fail(const Status& why) override {
    box_.with([&](Box& box) {
      if (box.fatal.ok()) box.fatal = why;
    });
  }
  std::vector<PeerAddress> others() const override;
  // Only a founder lets others in, and only before the run begins.
  bool is_over() const override {
    loop_.thread().assert_here();
    return !is_founder() || !roster_.empty();
  }
  std::size_t members_known() const override {
    loop_.thread().assert_here();
    if (node_) return node_->members_there();
    return roster_.empty() ? gathered_.size() + 1 : roster_.size();
  }

  // So many arrivals of members make the founder wait for the next one.
  std::uint32_t arrivals_max() const { return 2 * options_.core.members; }
  void gather(const PeerId& peer) WEFT_REQUIRES(loop_.thread());
  void number_if_all() WEFT_REQUIRES(loop_.thread());
  void take_roster(std::vector<PeerAddress> roster) WEFT_REQUIRES(loop_.thread());
  void send_roster(const PeerId& to) WEFT_REQUIRES(loop_.thread());
  Status on_roster(const PeerId& from, ByteSpan head) WEFT_REQUIRES(loop_.thread());
  void make_node(MixVector first, MixTools tools) WEFT_REQUIRES(loop_.thread());
  Status receive(const PeerId& from, const FrameView& frame) WEFT_REQUIRES(loop_.thread());
  void hand_over() WEFT_REQUIRES(loop_.thread());

  const MixMemberOptions options_;
  Guarded<Box> box_;
  bool left_ = false;  // the caller's
  // At the founder: who has come, with their addresses.
  std::map<PeerId, std::vector<std::string>> gathered_ WEFT_GUARDED_BY(loop_.thread());
  std::vector<PeerAddress> roster_ WEFT_GUARDED_BY(loop_.thread());
  MixTools tools_ WEFT_GUARDED_BY(loop_.thread());  // of the node's core
  std::unique_ptr<MixNode> node_ WEFT_GUARDED_BY(loop_.thread());
  // The first frames of members that have begun before this one: how much they have received, on
  // the link that stands.
  std::map<PeerId, Bytes> early_ WEFT_GUARDED_BY(loop_.thread());
  std::uint32_t contributions_ WEFT_GUARDED_BY(loop_.thread()) = 0;
  std::uint32_t arrivals_ WEFT_GUARDED_BY(loop_.thread()) = 0;
  TimePoint start_until_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint start_ends_ WEFT_GUARDED_BY(loop_.thread());
};

Status MixMember::Impl::start() {
  loop_.thread().assert_here();
  WEFT_TRY(open());
  start_until_ = loop_.now() + options_.start_timeout + (is_founder() ? Duration() : kFounderFirst);
  // No founder waits for longer than this.
  start_ends_ = start_until_ + arrivals_max() * options_.start_timeout;
  if (is_founder()) {
    number_if_all();
  } else {
    gate_->shut("only the peer that founded this run lets others in; join with its ticket");
  }
  begin_loop();
  return {};
}

// --- The caller's thread.

Result<MixTurn> MixMember::Impl::wait_turn(Duration limit) {
  box_.wait_until(clock_.now() + limit, [](const Box& box) {
    return !box.fatal.ok() || box.phase == MixPhase::kNumbered || box.work || box.result;
  });
  return box_.with([](Box& box) -> Result<MixTurn> {
    if (box.result) return MixTurn{MixPhase::kOver, box.self, std::nullopt, box.result};
    if (!box.fatal.ok()) return box.fatal;
    return MixTurn{box.phase, box.self, std::exchange(box.work, std::nullopt), nullptr};
  });
}

void MixMember::Impl::begin(MixVector first, MixTools tools) {
  box_.with([](Box& box) { box.phase = MixPhase::kRunning; });
  submit([this, first = std::move(first), tools = std::move(tools)]()
             WEFT_REQUIRES(loop_.thread()) { make_node(first, tools); });
}

void MixMember::Impl::worked(std::uint64_t id, MixVector model, const MixLoss& loss) {
  submit([this, id, model = std::move(model), loss]()
             WEFT_REQUIRES(loop_.thread()) { node_->worked(id, model, loss, loop_.now()); });
}

Status MixMember::Impl::leave(Duration limit) {
  if (std::exchange(left_, true)) return {};
  box_.wait_until(clock_.now() + kMixPartingMax,
                  [](const Box& box) { return box.parted || !box.result || !box.fatal.ok(); });
  submit([this]() WEFT_REQUIRES(loop_.thread()) {
    if (node_) node_->leave();
  });
  return close_links(limit);
}

Result<MixStatus> MixMember::Impl::status() {
  const auto [phase, number] =
      box_.with([](const Box& box) { return std::pair(box.phase, box.self); });
  return ask<MixStatus>(
      [this, phase = phase, number = number]() WEFT_REQUIRES(loop_.thread()) -> Result<MixStatus> {
        MixStatus status;
        status.phase = phase;
        status.self = number;
        status.version = node_ ? node_->core().version() : 0;
        status.members = members_known();
        status.contributions = contributions_;
        const TransportStats total = transport_->total_stats();
        status.bytes_sent = total.bytes_sent;
        status.bytes_received = total.bytes_received;
        std::uint32_t next = 0;
        for (const PeerAddress& peer : roster_) {
          const std::uint32_t at = next++;
          if (peer.id == self()) continue;
          const TransportStats link = transport_->stats(peer.id);
          status.others.push_back({at, peer.id, linked_.contains(peer.id), link.rtt_seconds,
                                   link.bytes_sent, link.bytes_received});
        }
        return status;
      });
}

// --- The loop thread: who takes part.

std::vector<PeerAddress> MixMember::Impl::others() const {
  loop_.thread().assert_here();
  std::vector<PeerAddress> others;
  for (const auto& [peer, addresses] : gathered_) others.push_back({peer, addresses});
  return others;
}

void MixMember::Impl::on_admitted(const PeerId& peer) {
  loop_.thread().assert_here();
  if (is_founder()) gather(peer);
  if (node_) node_->link_up(peer, loop_.now());
}

void MixMember::Impl::gather(const PeerId& peer) {
  if (roster_.empty()) {
    const bool arrives = gathered_.insert_or_assign(peer, gate_->endpoints_of(peer)).second;
    // One that comes and goes again and again must not hold up those that wait.
    if (arrives && ++arrivals_ <= arrivals_max()) {
      start_until_ = loop_.now() + options_.start_timeout;
    }
    return number_if_all();
  }
  // A link that was lost may have taken the roster with it.
  if (gathered_.contains(peer)) return send_roster(peer);
  close({peer, unavailable("mix: it is none of the members")});
}

void MixMember::Impl::number_if_all() {
  if (gathered_.size() + 1 < options_.core.members) return;
  gate_->shut(fmt::format(
      "the run has begun with its {} member{}, and takes nobody later (group.exchange = \"mix\")",
      options_.core.members, options_.core.members == 1 ? "" : "s"));
  std::vector<PeerAddress> roster = {{self(), endpoints()}};
  for (const auto& [peer, addresses] : gathered_) roster.push_back({peer, addresses});
  take_roster(std::move(roster));
  for (const auto& [peer, addresses] : gathered_) send_roster(peer);
}

void MixMember::Impl::send_roster(const PeerId& to) {
  MixRosterMessage message;
  for (const PeerAddress& member : roster_) {
    message.members.push_back({member.id, member.endpoints});
  }
  send({to, Lane::kControl, {frame_type::kMixRoster, message.encode(), {}}});
}

void MixMember::Impl::take_roster(std::vector<PeerAddress> roster) {
  roster_ = std::move(roster);
  MixNews news;
  for (const PeerAddress& member : roster_) news.roster.push_back(member.id);
  const auto own = std::ranges::find(news.roster, self());
  const auto number = static_cast<std::uint32_t>(own - news.roster.begin());
  box_.with([&](Box& box) {
    box.phase = MixPhase::kNumbered;
    box.self = number;
    box.news = std::move(news);
  });
}

Status MixMember::Impl::on_roster(const PeerId& from, ByteSpan head) {
  WEFT_TRY_ASSIGN(MixRosterMessage message, MixRosterMessage::decode(head));
  const std::vector<MixRosterMessage::Member>& members = message.members;
  const bool sponsor = !is_founder() && std::ranges::any_of(options_.member.ticket->members,
                                                            [&](const PeerAddress& each) {
                                                              return each.id == from;
                                                            });
  const bool named = std::ranges::any_of(
      members, [this](const MixRosterMessage::Member& each) { return each.id == self(); });
  if (!sponsor || members.front().id != from || !named || members.size() != options_.core.members) {
    return corrupt(
        fmt::format("mix: expected the roster of {} members with this one, from the "
                    "founder, got one of {}",
                    options_.core.members, members.size()));
  }
  if (!roster_.empty()) return {};
  std::vector<PeerAddress> roster;
  for (MixRosterMessage::Member& each : message.members) {
    roster.push_back({each.id, std::move(each.endpoints)});
  }
  take_roster(std::move(roster));
  return {};
}

void MixMember::Impl::on_gone(const PeerId& peer, const Status& why, bool /*was_linked*/) {
  loop_.thread().assert_here();
  early_.erase(peer);
  if (node_) return node_->link_down(peer, why, loop_.now());
  if (!roster_.empty()) return;
  if (is_founder()) {
    gathered_.erase(peer);
  } else if (gate_->key() && nobody_listens(why)) {
    fail(unavailable("mix: the peer that founded the run has gone before it began: " +
                     why.message()));
  }
}

void MixMember::Impl::on_tick(TimePoint now) {
  loop_.thread().assert_here();
  if (!roster_.empty()) return;
  // The founder knows who still comes; it decides for those that it has let in.
  if (!is_founder() && !linked_.empty()) {
    start_until_ = std::min(now + options_.start_timeout + kFounderFirst, start_ends_);
  }
  if (now < start_until_) return;
  start_until_ = start_ends_ = TimePoint::max();
  const std::string limit =
      fmt::format("{:.0f} s (group.start_timeout_s)", to_seconds(options_.start_timeout));
  fail(is_founder()
           ? timed_out(fmt::format("mix: expected {} members (group.start_members), got {} and no "
                                   "further one within {}; let more join, or set "
                                   "group.start_members lower",
                                   options_.core.members, gathered_.size() + 1, limit))
           : timed_out(fmt::format("mix: the run of {} members (group.start_members) did not begin "
                                   "within {}",
                                   options_.core.members, limit)));
}

// --- The loop thread: the run.

void MixMember::Impl::make_node(MixVector first, MixTools tools) {
  tools_ = std::move(tools);
  MixNodeOptions node;
  node.core = options_.core;
  node.core.probe = tools_.probe.get();
  node.core.judge = tools_.judge.get();
  const auto own = std::ranges::find(roster_, self(), &PeerAddress::id);
  node.core.self = static_cast<std::uint32_t>(own - roster_.begin());
  node.core.method = options_.method.get();
  node.members = roster_;
  node.codec = options_.codec;
  node.patience = options_.patience;
  const MixStyle style = options_.method->plan.style();
  node.links_to_all = style == MixStyle::kSampled || style == MixStyle::kPairwise;
  const TimePoint now = loop_.now();
  node_ = std::make_unique<MixNode>(std::move(node), *transport_, std::move(first), now);
  for (const PeerId& peer : linked_) node_->link_up(peer, now);
  for (const auto& [peer, head] : std::exchange(early_, {})) {
    const FrameView frame = {frame_type::kMixReceived, head, {}};
    if (const Status taken = node_->receive(peer, frame, now); !taken.ok()) close({peer, taken});
  }
  // A link that ended between the roster and now has said so to nobody.
  if (node_->self() != 0) node_->keep_link(0, now);
}

Status MixMember::Impl::receive(const PeerId& from, const FrameView& frame) {
  if (frame.type == frame_type::kMixRoster) return on_roster(from, frame.head);
  if (node_) return node_->receive(from, frame, loop_.now());
  if (frame.type == frame_type::kMixLeaving) {
    WEFT_TRY(MixLeavingMessage::decode(frame.head).status());
    if (is_founder() && roster_.empty()) gathered_.erase(from);
    return {};
  }
  // Letters come once this member has said how many it has, and so not before it has begun.
  if (frame.type != frame_type::kMixReceived || early_.contains(from)) {
    return corrupt(fmt::format("mix: expected no frame of type {:#x} before the run", frame.type));
  }
  WEFT_TRY(MixReceivedMessage::decode(frame.head).status());
  early_.emplace(from, Bytes(frame.head.begin(), frame.head.end()));
  return {};
}

void MixMember::Impl::on_member_frame(const PeerId& from, const FrameView& frame) {
  loop_.thread().assert_here();
  if (!linked_.contains(from)) return;
  const Status taken = receive(from, frame);
  if (!taken.ok()) close({from, taken});
}

bool MixMember::Impl::settle_core() {
  loop_.thread().assert_here();
  if (!node_) return false;
  const TimePoint now = loop_.now();
  node_->act(now);
  node_->settle(now);
  node_->act(now);
  std::optional<MixWork> work = node_->take_work();
  // A mix that follows another one without steps in between.
  while (work && work->steps == 0) {
    node_->worked(work->id, work->model, {}, now);
    node_->settle(now);
    node_->act(now);
    work = node_->take_work();
  }
  if (work) box_.with([&](Box& box) { box.work = std::move(work); });
  hand_over();
  return false;
}

void MixMember::Impl::hand_over() {
  for (const MixCombined& made : node_->take_combined()) contributions_ = made.contributions;
  std::vector<MixLost> lost = node_->take_lost();
  const bool parted = node_->is_parted();
  const MixVector& result = node_->result();
  if (!node_->failure().ok()) fail(node_->failure());
  box_.with([&](Box& box) {
    box.parted = parted;
    if (result) {
      box.result = result;
      box.phase = MixPhase::kOver;
    }
    std::ranges::move(lost, std::back_inserter(box.news.lost));
  });
}

// --- MixMember.

MixMember::MixMember(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MixMember::~MixMember() = default;

Result<std::unique_ptr<MixMember>> MixMember::start(MixMemberOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  WEFT_TRY(impl->start());
  return std::unique_ptr<MixMember>(new MixMember(std::move(impl)));
}

const PeerId& MixMember::self() const { return impl_->self(); }
Result<MixTurn> MixMember::wait_turn(Duration limit) { return impl_->wait_turn(limit); }
void MixMember::begin(MixVector first, MixTools tools) {
  impl_->begin(std::move(first), std::move(tools));
}
void MixMember::worked(std::uint64_t id, MixVector model, const MixLoss& loss) {
  impl_->worked(id, std::move(model), loss);
}
Status MixMember::leave(Duration limit) { return impl_->leave(limit); }
Result<Ticket> MixMember::ticket(Duration valid_for) {
  if (impl_->is_founder()) return impl_->ticket(valid_for);
  return unavailable(
      "ticket: only the peer that founded a run with group.exchange = \"mix\" lets others in, and "
      "only before it begins");
}
Result<std::string> MixMember::join_code(const Ticket& ticket) { return impl_->join_code(ticket); }
Result<MixStatus> MixMember::status() { return impl_->status(); }
MixNews MixMember::take_news() { return impl_->take_news(); }

}  // namespace weft
