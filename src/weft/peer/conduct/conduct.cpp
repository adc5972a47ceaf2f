#include "weft/peer/conduct.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr Duration kHalfLife = std::chrono::minutes(10);
constexpr std::size_t kRecordsMax = 1024;
// Withdrawn suspicions count at most so often: 2 points every 20 s approach 86, below the limit.
constexpr Duration kSuspicionGap = std::chrono::seconds(20);
// How many others one member accuses at a time.
constexpr int kAccusedMax = 16;

}  // namespace

double weight_of(Offence offence) {
  switch (offence) {
    case Offence::kMalformed:
      return 35.0;
    case Offence::kWrongHash:
      return 50.0;
    case Offence::kFalseSuspicion:
      return 2.0;
    case Offence::kRefusedProof:
      return 25.0;
    case Offence::kFlood:
      return 10.0;
    case Offence::kByHand:
    case Offence::kFalsified:
      return kConductLimit;
  }
  return 0.0;
}

double Conduct::decayed(const Record& record, TimePoint now) {
  return record.score * std::exp2(-to_seconds(now - record.at) / to_seconds(kHalfLife));
}

void Conduct::make_room(TimePoint now) {
  if (records_.size() < kRecordsMax) return;
  const auto least =
      std::min_element(records_.begin(), records_.end(), [now](const auto& a, const auto& b) {
        return decayed(a.second, now) < decayed(b.second, now);
      });
  records_.erase(least);
}

bool Conduct::note(const PeerId& peer, Offence offence, const std::string& evidence,
                   TimePoint now) {
  const auto found = records_.find(peer);
  const bool known = found != records_.end();
  const bool suspicion = offence == Offence::kFalseSuspicion;
  if (known && suspicion && now - found->second.suspicion_at < kSuspicionGap) return false;
  if (!known) make_room(now);
  Record& record = known ? found->second : records_[peer];
  record.score = (known ? decayed(record, now) : 0.0) + weight_of(offence);
  record.at = now;
  if (suspicion) record.suspicion_at = now;
  if (!known || weight_of(offence) >= weight_of(record.worst)) {
    record.worst = offence;
    record.evidence = evidence.substr(0, kReasonBytesMax);
  }
  return true;
}

double Conduct::score(const PeerId& peer, TimePoint now) const {
  const auto found = records_.find(peer);
  return found == records_.end() ? 0.0 : decayed(found->second, now);
}

std::optional<AccusationMessage> Conduct::charge(const PeerId& peer) const {
  const auto found = records_.find(peer);
  if (found == records_.end()) return std::nullopt;
  return AccusationMessage{peer, found->second.worst, found->second.evidence};
}

bool Accusations::add(const PeerId& accused, const PeerId& accuser, Charge charge) {
  if (accuses(accuser, accused) || made_[accuser] >= kAccusedMax) return false;
  charges_[accused].emplace(accuser, std::move(charge));
  ++made_[accuser];
  return true;
}

bool Accusations::accuses(const PeerId& accuser, const PeerId& accused) const {
  const auto found = charges_.find(accused);
  return found != charges_.end() && found->second.count(accuser) != 0;
}

int Accusations::count(const PeerId& accused) const {
  const auto found = charges_.find(accused);
  return found == charges_.end() ? 0 : static_cast<int>(found->second.size());
}

bool Accusations::convicts(const View& view, const PeerId& accused) const {
  return view.size() > 1 && 2 * count(accused) > view.size() - 1;
}

std::string Accusations::verdict(const View& view, const PeerId& accused) const {
  const auto found = charges_.find(accused);
  if (found == charges_.end()) return "";
  const Charge& first = found->second.begin()->second;
  std::string text = std::to_string(found->second.size()) + " of " +
                     std::to_string(view.size() - 1) +
                     " others accuse it: " + std::string(to_string(first.offence));
  if (!first.evidence.empty()) text += ", " + first.evidence;
  return text.substr(0, kReasonBytesMax);
}

std::vector<AccusationMessage> Accusations::by(const PeerId& accuser) const {
  std::vector<AccusationMessage> all;
  for (const auto& [accused, charges] : charges_) {
    const auto own = charges.find(accuser);
    if (own == charges.end()) continue;
    all.push_back({accused, own->second.offence, own->second.evidence});
  }
  return all;
}

std::vector<PeerId> Accusations::accused() const {
  std::vector<PeerId> all;
  for (const auto& [accused, charges] : charges_) all.push_back(accused);
  return all;
}

std::vector<std::pair<PeerId, PeerId>> Accusations::pairs() const {
  std::vector<std::pair<PeerId, PeerId>> all;
  for (const auto& [accused, charges] : charges_) {
    for (const auto& [accuser, charge] : charges) all.emplace_back(accused, accuser);
  }
  return all;
}

void Accusations::keep(const View& view) {
  if (charges_.empty()) return;
  std::erase_if(charges_, [&](const auto& entry) { return !view.contains(entry.first); });
  made_.clear();
  for (auto& [accused, charges] : charges_) {
    std::erase_if(charges, [&](const auto& entry) { return !view.contains(entry.first); });
    for (const auto& [accuser, charge] : charges) ++made_[accuser];
  }
  std::erase_if(charges_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace weft
