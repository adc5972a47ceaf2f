#include "weft/collective/link/link_rates.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "weft/base/check.h"
#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::uint8_t kProbeFrames = 8;
// This many bursts to a member are sent without waiting for probe_interval.
static constexpr int kProbesSoon = 3;
// Rates are logarithmic: 1024 codes are a factor of two. A change of a tenth is announced.
static constexpr int kCodesApart = 141;
// How often in a row another order must be better.
static constexpr int kBetterTimes = 2;
static constexpr double kMicrosecond = 1e-6;

static bool apart(LinkCode a, LinkCode b) {
  return a.known() != b.known() || std::abs(int{a.code()} - int{b.code()}) > kCodesApart;
}

// --- Views.

void LinkRates::on_view(const View& view, TimePoint now) {
  owner_.assert_here();
  const View before = std::exchange(view_, view);
  std::vector<Row> old = std::exchange(rows_, {});
  rank_ = view.rank_of(options_.self).value();
  WEFT_CHECK(rank_ >= 0);
  proposal_.reset();
  proposed_.clear();
  better_ = 0;
  if (beat_at_ == TimePoint::max()) beat_at_ = now + options_.beat;
  // Former ranks, by rank; -1 for newcomers and for members that returned with another incarnation.
  std::vector<int> former;
  for (const Member& member : view.members) {
    const Member* same = before.find(member.id);
    const bool stays = same != nullptr && same->incarnation == member.incarnation;
    former.push_back(stays ? before.rank_of(member.id).value() : -1);
  }
  const bool stay = before.size() == view.size() && std::ranges::count(former, -1) == 0;
  if (stay && (!std::ranges::is_sorted(former) || before.links != view.links)) {
    ordered_ = std::max(committed_, view.base_round);
  }
  std::erase_if(peers_, [&](const auto& entry) {
    const Member* member = view.find(entry.first);
    return member == nullptr || member->incarnation != entry.second.incarnation;
  });
  if (!active() || view.size() > static_cast<int>(kMembersMax)) {
    rows_.clear();
    return;
  }
  rows_.resize(former.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].links.resize(rows_.size());
    for (std::size_t j = 0; j < rows_.size(); ++j) {
      rows_[i].links[j].from = static_cast<std::uint16_t>(j);
    }
    if (former[i] < 0 || static_cast<std::size_t>(former[i]) >= old.size()) continue;
    const Row& kept = old[static_cast<std::size_t>(former[i])];
    rows_[i].sequence = kept.sequence;
    rows_[i].measured = kept.measured;
    // What was under way named the ranks of the old view.
    rows_[i].hot = kept.hot > 0 ? distances() : 0;
    for (std::size_t j = 0; j < rows_.size(); ++j) {
      if (former[j] < 0) continue;
      const LinkEntry& link = kept.links[static_cast<std::size_t>(former[j])];
      rows_[i].links[j].rate = link.rate;
      rows_[i].links[j].delay = link.delay;
    }
  }
  for (const Member& member : view.members) {
    if (member.id != options_.self) peers_[member.id].incarnation = member.incarnation;
  }
  greet(before, now);
}

void LinkRates::leave_view() {
  owner_.assert_here();
  view_ = View();
  rows_.clear();
  peers_.clear();
  proposal_.reset();
  proposed_.clear();
  beat_at_ = TimePoint::max();
}

// A newcomer gets all rows from the member before it.
void LinkRates::greet(const View& before, TimePoint now) {
  const Member& next = view_.members[static_cast<std::size_t>((rank_ + 1) % view_.size())];
  if (before.size() == 0 || before.contains(next.id)) return;
  std::vector<int> all;
  for (int rank = 0; rank < view_.size(); ++rank) {
    if (rows_[static_cast<std::size_t>(rank)].sequence > 0) all.push_back(rank);
  }
  send_rows(next.id, all, now);
}

// --- Reports of members.

Status LinkRates::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  owner_.assert_here();
  if (frame.type == frame_type::kLinkReport) {
    WEFT_TRY_ASSIGN(const LinkReportMessage report, LinkReportMessage::decode(frame.head));
    return on_report(from, report, now);
  }
  if (frame.type != frame_type::kProbe) return corrupt("links: a frame of no known type");
  WEFT_TRY_ASSIGN(const ProbeHead head, ProbeHead::decode(frame.head));
  if (frame.body.size() > kProbeBodyBytesMax) return corrupt("probe: the body is too long");
  const auto peer = peers_.find(from);
  if (peer != peers_.end()) peer->second.meter.on_probe(head, frame.body.size(), now);
  return {};
}

Status LinkRates::on_report(const PeerId& from, const LinkReportMessage& report, TimePoint now) {
  if (report.view != view_.id || rows_.empty()) return {};
  for (const LinkRow& told : report.rows) {
    const auto in_view = [&](const LinkEntry& link) { return link.from < rows_.size(); };
    if (told.reporter >= rows_.size() || !std::ranges::all_of(told.links, in_view)) {
      return corrupt("link report of " + from.short_name() + ": a rank beyond the view");
    }
    Row& row = rows_[told.reporter];
    if (told.reporter == rank_ || told.sequence <= row.sequence) continue;
    row.sequence = told.sequence;
    row.measured = now - std::chrono::seconds(told.age_s);
    row.hot = distances();
    for (LinkEntry& link : row.links) link.rate = link.delay = LinkCode();
    for (const LinkEntry& link : told.links) row.links[link.from] = link;
  }
  return {};
}

void LinkRates::on_traffic(const PeerId& from, std::size_t bytes, TimePoint now) {
  owner_.assert_here();
  if (!active()) return;
  if (const auto peer = peers_.find(from); peer != peers_.end()) {
    peer->second.meter.on_traffic(bytes, now);
  }
}

void LinkRates::on_committed(Round round, const RoundLoad& load, TimePoint now) {
  owner_.assert_here();
  committed_ = std::max(committed_, round);
  load_ = load;
  if (ordered_ == Round()) ordered_ = compared_ = committed_;
  if (probe_due_) probe(now);
}

// --- The beat.

void LinkRates::on_timer(TimePoint now) {
  owner_.assert_here();
  if (!active() || rows_.empty() || now < beat_at_) return;
  beat_at_ = now + options_.beat;
  ++beats_;
  measure(now);
  gossip(now);
  probe_due_ = true;
  probe(now);
  compare();
}

int LinkRates::distances() const {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(view_.size() - 1))));
}

// Brings this member's own row up to date.
void LinkRates::measure(TimePoint now) {
  Row& own = rows_[static_cast<std::size_t>(rank_)];
  bool changed = false;
  for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
    const PeerId& id = view_.members[rank].id;
    const auto peer = peers_.find(id);
    if (peer == peers_.end()) continue;
    LinkEntry& link = own.links[rank];
    const double bytes_per_s = peer->second.meter.bytes_per_s();
    const double delay_s = sink_.rtt_seconds(id) / 2;
    const LinkCode rate = bytes_per_s > 0 ? LinkCode::of(bytes_per_s) : LinkCode();
    const LinkCode delay = delay_s > 0 ? LinkCode::of(delay_s / kMicrosecond) : LinkCode();
    // Delays fluctuate too much to be announced on their own; they are sent along with rates.
    if (!apart(rate, link.rate)) continue;
    link.rate = rate;
    link.delay = delay;
    changed = true;
  }
  if (!changed) return;
  ++own.sequence;
  own.measured = now;
  own.hot = distances();
}

void LinkRates::gossip(TimePoint now) {
  std::vector<int> hot;
  for (int rank = 0; rank < view_.size(); ++rank) {
    if (rows_[static_cast<std::size_t>(rank)].hot > 0) hot.push_back(rank);
    if (hot.size() == kLinkRowsMax) break;
  }
  if (hot.empty()) return;
  const int distance = 1 << (beats_ % static_cast<unsigned>(distances()));
  const Member& to = view_.members[static_cast<std::size_t>((rank_ + distance) % view_.size())];
  if (to.id == options_.self || !sink_.linked(to.id)) return;
  for (const int rank : hot) --rows_[static_cast<std::size_t>(rank)].hot;
  send_rows(to.id, hot, now);
}

void LinkRates::send_rows(const PeerId& to, const std::vector<int>& reporters, TimePoint now) {
  LinkReportMessage report{view_.id, {}};
  for (std::size_t i = 0; i < reporters.size(); ++i) {
    const Row& row = rows_[static_cast<std::size_t>(reporters[i])];
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - row.measured).count();
    LinkRow& told = report.rows.emplace_back();
    told.reporter = static_cast<std::uint16_t>(reporters[i]);
    told.sequence = row.sequence;
    told.age_s = static_cast<std::uint16_t>(std::clamp<std::int64_t>(age, 0, UINT16_MAX));
    for (const LinkEntry& link : row.links) {
      if (link.rate.known()) told.links.push_back(link);
    }
    if (report.rows.size() < kLinkRowsMax && i + 1 < reporters.size()) continue;
    sink_.send(to, Lane::kControl, {frame_type::kLinkReport, report.encode(), {}});
    report.rows.clear();
  }
}

// --- Bursts.

// The linked member that has had the fewest, and among those the one that waits longest.
LinkRates::Peer* LinkRates::probe_target(TimePoint now, PeerId& target) {
  Peer* best = nullptr;
  for (int distance = 1; distance < view_.size(); ++distance) {
    const Member& member =
        view_.members[static_cast<std::size_t>((rank_ + distance) % view_.size())];
    const auto found = peers_.find(member.id);
    if (found == peers_.end() || !sink_.linked(member.id)) continue;
    // A burst behind other data would measure that.
    if (sink_.queued_bytes(member.id) > 0) return nullptr;
    Peer& peer = found->second;
    const Duration wait = peer.probes < kProbesSoon ? options_.beat : options_.probe_interval;
    if (peer.probes > 0 && now < peer.probed + wait) continue;
    const auto rank_of = [](const Peer& each) {
      return std::pair(std::min(each.probes, kProbesSoon), each.probed);
    };
    if (best != nullptr && rank_of(*best) <= rank_of(peer)) continue;
    best = &peer;
    target = member.id;
  }
  return best;
}

void LinkRates::probe(TimePoint now) {
  const double allowed = static_cast<double>(options_.probe_bytes_first) +
                         options_.probe_share * static_cast<double>(bytes_sent_);
  if (!active() || static_cast<double>(bytes_probed_ + options_.probe_bytes) > allowed) return;
  PeerId target;
  Peer* peer = probe_target(now, target);
  if (peer == nullptr) return;
  probe_due_ = false;
  ++peer->probes;
  peer->probed = now;
  const std::size_t piece = std::min(options_.probe_bytes / kProbeFrames, kProbeBodyBytesMax);
  const SharedBytes body(Bytes(piece, 0));
  ++probes_;
  for (std::uint8_t index = 0; index < kProbeFrames; ++index) {
    const ProbeHead head{view_.id, probes_, index, kProbeFrames};
    sink_.send(target, Lane::kBulk, {frame_type::kProbe, head.encode(), body});
  }
  bytes_probed_ += piece * kProbeFrames;
}

// --- The order.

LinkMatrix LinkRates::matrix() const {
  LinkMatrix matrix(view_.size());
  for (std::size_t to = 0; to < rows_.size(); ++to) {
    for (const LinkEntry& link : rows_[to].links) {
      matrix.at(link.from, static_cast<int>(to)) = {link.rate.value(),
                                                    link.delay.value() * kMicrosecond};
    }
  }
  return matrix;
}

// The summary of the ring order[0] -> order[1] -> ...; all rates are known.
static LinkSummary summary_of(const LinkMatrix& links, std::span<const int> order) {
  double slowest = std::numeric_limits<double>::max();
  double delay = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int next = order[(i + 1) % order.size()];
    slowest = std::min(slowest, links.at(order[i], next).bytes_per_s);
    for (const int other : order) {
      if (other != order[i]) delay = std::max(delay, links.at(order[i], other).delay_s);
    }
  }
  const LinkCode delay_code = delay > 0 ? LinkCode::of(delay / kMicrosecond) : LinkCode();
  return {LinkCode::of(slowest), LinkCode::of(links.all_to_all_rate()), delay_code};
}

LinkSummary LinkRates::summary(const std::vector<Member>& members) const {
  owner_.assert_here();
  std::vector<int> ranks;
  for (const Member& member : members) {
    const Rank rank = view_.rank_of(member.id);
    if (rank.value() >= 0) ranks.push_back(rank.value());
  }
  if (rows_.empty() || static_cast<int>(ranks.size()) < kMembersLeast) return view_.links;
  const LinkMatrix known = matrix().part(ranks);
  if (known.known_share() < options_.known_min) return view_.links;
  std::vector<int> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  return summary_of(known.filled(), order);
}

// What rounds take now, and what they would take in the best order and the way that suits it.
BetterRing LinkRates::judge(const LinkMatrix& links) const {
  RingLoad ring;
  ring.bytes = static_cast<double>(
      encoded_bytes(load_.way.precision, static_cast<std::size_t>(load_.elements)));
  std::vector<int> present(static_cast<std::size_t>(view_.size()));
  std::iota(present.begin(), present.end(), 0);
  const std::vector<int> order = ring_order(links, ring);
  CollectiveOptions agreed = load_.way;
  agreed.link = profile_of(view_.links, load_.way.link);
  CollectiveOptions then = load_.way;
  then.link = profile_of(summary_of(links, order), load_.way.link);
  BetterRing better;
  better.way_now = choose_algorithm(agreed, load_.elements);
  better.way_then = choose_algorithm(then, load_.elements);
  if (better.way_now != better.way_then) {
    CollectiveOptions real = load_.way;
    real.link = profile_of(summary_of(links, present), load_.way.link);
    better.seconds_now = predicted_seconds(real, load_.elements, better.way_now);
    better.seconds_then = predicted_seconds(then, load_.elements, better.way_then);
  } else if (better.way_now == Algorithm::kRing) {
    better.seconds_now = ring_seconds(links, present, ring);
    better.seconds_then = ring_seconds(links, order, ring);
  }
  for (const int rank : order) {
    better.order.push_back(view_.members[static_cast<std::size_t>(rank)].id);
  }
  return better;
}

void LinkRates::compare() {
  // The search runs only once in several rounds, unless it has just found something.
  const std::uint64_t wait = better_ > 0 ? 1 : options_.rounds_between;
  const bool due = committed_.value() >= compared_.value() + wait &&
                   committed_.value() >= ordered_.value() + options_.rounds_between;
  if (rank_ != 0 || load_.elements == 0 || !due || !proposed_.empty()) return;
  const LinkMatrix known = matrix();
  if (known.known_share() < options_.known_min) return;
  compared_ = committed_;
  BetterRing better = judge(known.filled());
  const bool worth = better.seconds_now > better.seconds_then * options_.gain_min &&
                     better.seconds_now - better.seconds_then > to_seconds(options_.saving_min);
  better_ = worth ? better_ + 1 : 0;
  if (better_ < kBetterTimes) return;
  proposed_ = better.order;
  proposal_ = std::move(better);
}

std::optional<BetterRing> LinkRates::take_better() {
  owner_.assert_here();
  return std::exchange(proposal_, {});
}

std::vector<Member> LinkRates::arrange(std::vector<Member> members) const {
  owner_.assert_here();
  const auto place = [&](const Member& member) {
    return std::find(proposed_.begin(), proposed_.end(), member.id) - proposed_.begin();
  };
  std::ranges::stable_sort(members, {}, place);
  return members;
}

}  // namespace weft
