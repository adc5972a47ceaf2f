#include "weft/collective/report/shares.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::uint32_t kNameMask = 0xffffff;
constexpr double kNanosecondsMax = 1e12;  // a quarter of an hour a sample
// The fastest member's speed; the others' are less.
constexpr std::int64_t kTopSpeed = std::int64_t{1} << 20U;

double read_seconds(Reader& in, std::string_view field) {
  const double seconds = in.f64(field);
  if (seconds < 0) in.fail(field, "is below 0");
  return seconds;
}

std::int64_t nanoseconds_of(double seconds_per_sample) {
  if (!(seconds_per_sample > 0)) return 0;
  // To the nearest, or members of one speed would differ by what their last digits are.
  return std::llround(std::clamp(seconds_per_sample * 1e9, 1.0, kNanosecondsMax));
}

// What a split takes: the slowest member's time. No sums, so that nothing can be fused.
double round_time(std::span<const std::int64_t> shares, std::span<const std::int64_t> nanoseconds) {
  double slowest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    slowest =
        std::max(slowest, static_cast<double>(shares[i]) * static_cast<double>(nanoseconds[i]));
  }
  return slowest;
}

// Relative to the fastest; members without a measurement get the mean of the others.
std::vector<std::int64_t> speeds_of(std::span<const std::int64_t> nanoseconds) {
  std::int64_t fastest = static_cast<std::int64_t>(kNanosecondsMax);
  for (const std::int64_t each : nanoseconds) {
    if (each > 0) fastest = std::min(fastest, each);
  }
  std::vector<std::int64_t> speeds;
  std::int64_t sum = 0;
  std::int64_t measured = 0;
  for (const std::int64_t each : nanoseconds) {
    const std::int64_t speed = each > 0 ? std::max<std::int64_t>(1, fastest * kTopSpeed / each) : 0;
    speeds.push_back(speed);
    sum += speed;
    measured += each > 0 ? 1 : 0;
  }
  for (std::int64_t& speed : speeds) {
    if (speed == 0) speed = std::max<std::int64_t>(1, sum / measured);
  }
  return speeds;
}

}  // namespace

std::uint32_t report_name(const PeerId& peer) {
  std::uint32_t name = 0;
  for (int i = 0; i < 3; ++i) name = name << 8U | peer.bytes[static_cast<std::size_t>(i)];
  return name == 0 ? 1 : name;
}

void MemberReport::write(Writer& out) const {
  out.u32(name & kNameMask).u8(static_cast<std::uint8_t>(attendance));
  out.u64(static_cast<std::uint64_t>(share)).f64(compute_seconds).f64(seconds_per_sample);
  out.u8(settled ? 1 : 0);
}

MemberReport MemberReport::read(Reader& in) {
  MemberReport report;
  report.name = in.u32("name");
  if (report.name > kNameMask) in.fail("name", "expected 24 bits");
  const std::uint8_t attendance = in.u8("attendance");
  if (attendance > static_cast<std::uint8_t>(Attendance::kCarried)) {
    in.fail("attendance", "expected 0 to 3");
  }
  report.attendance = static_cast<Attendance>(attendance);
  const std::uint64_t share = in.u64("share");
  if (share > static_cast<std::uint64_t>(kShareMax)) in.fail("share", "is too large");
  report.share = static_cast<std::int64_t>(share);
  report.compute_seconds = read_seconds(in, "compute seconds");
  report.seconds_per_sample = read_seconds(in, "seconds per sample");
  report.settled = in.boolean("settled");
  return in.failed() ? MemberReport() : report;
}

std::vector<std::int64_t> equal_shares(std::int64_t batch, std::int64_t members) {
  std::vector<std::int64_t> shares;
  for (std::int64_t rank = 0; rank < members; ++rank) {
    shares.push_back(batch * (rank + 1) / members - batch * rank / members);
  }
  return shares;
}

std::vector<std::int64_t> shares_by_speed(std::int64_t batch,
                                          std::span<const std::int64_t> speeds) {
  const auto members = static_cast<std::int64_t>(speeds.size());
  if (batch < members) return equal_shares(batch, members);
  const std::int64_t all = std::accumulate(speeds.begin(), speeds.end(), std::int64_t{0});
  std::vector<std::int64_t> shares;
  // The largest first, of equal ones the fastest member's, which costs least, then by rank.
  std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>> remainders;
  std::int64_t left = batch;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    shares.push_back(batch * speeds[i] / all);
    remainders.emplace_back(-(batch * speeds[i] % all), -speeds[i], i);
    left -= shares.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; left > 0; ++i, --left) ++shares[std::get<2>(remainders[i])];
  for (std::int64_t& share : shares) {
    if (share > 0) continue;
    --*std::max_element(shares.begin(), shares.end());
    share = 1;
  }
  return shares;
}

std::vector<std::int64_t> halved_shares(std::int64_t batch,
                                        std::span<const std::uint8_t> halvings) {
  const auto members = static_cast<std::int64_t>(halvings.size());
  const bool equal = std::all_of(halvings.begin(), halvings.end(), [](auto h) { return h == 0; });
  if (equal) return equal_shares(batch, members);
  std::vector<std::int64_t> speeds;
  for (const std::uint8_t each : halvings) speeds.push_back(std::int64_t{1} << (20 - each));
  return shares_by_speed(batch, speeds);
}

// --- Shares.

const Shares::Known* Shares::find(std::uint32_t name) const {
  const auto found =
      std::lower_bound(known_.begin(), known_.end(), name,
                       [](const Known& each, std::uint32_t wanted) { return each.name < wanted; });
  return found != known_.end() && found->name == name ? &*found : nullptr;
}

void Shares::hear(std::span<const MemberReport> reports) {
  ++heard_;
  for (const MemberReport& report : reports) {
    if (report.name == 0) continue;
    const auto place = std::lower_bound(
        known_.begin(), known_.end(), report.name,
        [](const Known& each, std::uint32_t wanted) { return each.name < wanted; });
    const bool known = place != known_.end() && place->name == report.name;
    Known& entry = known ? *place : *known_.insert(place, Known{});
    const std::int64_t before = entry.nanoseconds;
    entry = {report.name, nanoseconds_of(report.seconds_per_sample), report.settled, report.share,
             heard_};
    // A member that returned has yet to measure itself: its earlier speed is the better guess.
    if (entry.nanoseconds == 0) entry.nanoseconds = before;
  }
  while (known_.size() > kKnownMax) {
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const Known& a, const Known& b) {
      return std::pair(a.heard, a.name) < std::pair(b.heard, b.name);
    }));
  }
}

std::vector<std::int64_t> Shares::split(std::span<const std::uint32_t> names, std::int64_t batch,
                                        std::span<const std::uint8_t> halvings) const {
  const auto members = static_cast<std::int64_t>(names.size());
  std::vector<std::int64_t> nanoseconds;
  std::vector<std::int64_t> current;
  std::int64_t sum = 0;
  bool all_settled = true;
  bool all_work = true;
  for (const std::uint32_t name : names) {
    const Known* const known = find(name);
    nanoseconds.push_back(known != nullptr ? known->nanoseconds : 0);
    current.push_back(known != nullptr ? known->share : 0);
    sum += current.back();
    all_settled = all_settled && known != nullptr && known->settled && known->nanoseconds > 0;
    all_work = all_work && current.back() > 0;
  }
  const bool some_measured =
      std::any_of(nanoseconds.begin(), nanoseconds.end(), [](auto each) { return each > 0; });
  const bool halved = halvings.size() == names.size();
  if (!some_measured || batch < members) {
    return halved ? halved_shares(batch, halvings) : equal_shares(batch, members);
  }
  for (std::size_t i = 0; halved && i < nanoseconds.size(); ++i) nanoseconds[i] <<= halvings[i];
  const bool holds = all_work && sum == batch;
  if (holds && !all_settled) return current;
  std::vector<std::int64_t> best = shares_by_speed(batch, speeds_of(nanoseconds));
  if (!holds) return best;
  const double gained = round_time(current, nanoseconds) * 100.0;
  const double enough = round_time(best, nanoseconds) * static_cast<double>(100 + kGainPercent);
  return gained > enough ? best : current;
}

std::string Shares::encode() const {
  if (heard_ == 0) return {};
  std::string text = std::to_string(heard_);
  for (const Known& each : known_) {
    text += fmt::format(";{} {} {} {} {}", each.name, each.nanoseconds, each.settled ? 1 : 0,
                        each.share, each.heard);
  }
  return text;
}

Result<Shares> Shares::decode(std::string_view text) {
  Shares shares;
  if (text.empty()) return shares;
  const Status wrong = corrupt("shares: expected numbers of members, got something else");
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto number = [&](std::int64_t most, std::int64_t& out) {
    const auto [stopped, error] = std::from_chars(at, end, out);
    const bool good = error == std::errc() && out >= 0 && out <= most;
    at = stopped;
    return good;
  };
  const auto skip = [&](char wanted) { return at != end && *at++ == wanted; };
  if (!number(std::int64_t{1} << 60U, shares.heard_)) return wrong;
  while (at != end) {
    std::int64_t name = 0;
    std::int64_t settled = 0;
    Known known;
    const bool read = skip(';') && number(kNameMask, name) && skip(' ') &&
                      number(static_cast<std::int64_t>(kNanosecondsMax), known.nanoseconds) &&
                      skip(' ') && number(1, settled) && skip(' ') &&
                      number(kShareMax, known.share) && skip(' ') &&
                      number(shares.heard_, known.heard);
    known.name = static_cast<std::uint32_t>(name);
    known.settled = settled != 0;
    const bool in_order = shares.known_.empty() || shares.known_.back().name < known.name;
    if (!read || name == 0 || !in_order || shares.known_.size() >= kKnownMax) return wrong;
    shares.known_.push_back(known);
  }
  return shares;
}

// --- SpeedMeter.

void SpeedMeter::add(double seconds, std::int64_t share) {
  if (share <= 0 || !(seconds > 0)) return;
  if (share != share_) {
    share_ = share;
    size_ = 0;
    next_ = 0;
    return;
  }
  last_[next_] = seconds / static_cast<double>(share);
  next_ = (next_ + 1) % kKept;
  size_ = std::min(size_ + 1, kKept);
  if (!settled()) return;
  std::array<double, kKept> sorted = last_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(size_);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(size_ / 2);
  std::nth_element(sorted.begin(), middle, end);
  seconds_per_sample_ = *middle;
}

}  // namespace weft
