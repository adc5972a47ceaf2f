#include "weft/gossip/book/address_book.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft {

bool AddressBook::is_older(Round round, Round now, std::uint64_t ages) const {
  return now > round && (now.value() - round.value()) / ages > options_.expiry_rounds;
}

// Only parts that are new cost a check: the rest was checked when it came.
Status AddressBook::check_parts(const MemberRecord& record, const MemberRecord* known) const {
  const auto valid = [&](const Bytes& message, const RecordSignature& signature) {
    return options_.check ? options_.check(record.key, message, signature)
                          : signature_valid(record.key, message, signature);
  };
  const auto refuse = [&](const char* part) {
    return corrupt(fmt::format("gossip book: expected the {} of {} with its signature, got another",
                               part, owner_of(record).short_name()));
  };
  if (record.presence.round > options_.last_round) {
    return corrupt(fmt::format("gossip book: expected rounds up to {}, got {} of {}",
                               options_.last_round.value(), record.presence.round.value(),
                               owner_of(record).short_name()));
  }
  const bool same_standing = known != nullptr && known->standing == record.standing;
  if (!same_standing &&
      !valid(signed_standing(options_.run, record.standing), record.standing.signature)) {
    return refuse("standing");
  }
  const bool same_presence = known != nullptr && known->presence == record.presence;
  if (!same_presence &&
      !valid(signed_presence(options_.run, record.presence), record.presence.signature)) {
    return refuse("presence");
  }
  return {};
}

Result<bool> AddressBook::merge(const MemberRecord& record, const PeerId& from, Round now) {
  const auto found = by_key_.find(record.key);
  const MemberRecord* const known =
      found == by_key_.end() ? nullptr : &found->second->second.record;
  if (known != nullptr && *known == record) return false;
  WEFT_TRY(check_parts(record, known));
  if (known == nullptr) {
    if (is_older(record.presence.round, now, 1)) return false;
    if (entries_.size() >= options_.records_max) forget_expired(now);
    if (entries_.size() >= options_.records_max) return false;
    const auto entry = entries_.emplace(owner_of(record), Entry{record, ++version_, from}).first;
    by_key_.emplace(record.key, entry);
    by_change_.emplace(version_, entry);
    return true;
  }
  MemberRecord joined = merged(*known, record);
  if (joined == *known) return false;
  Entry& entry = found->second->second;
  by_change_.erase(entry.changed);
  // A record that came partly from another peer is news for `from`, too.
  const PeerId received_from = joined == record ? from : PeerId{};
  entry = {std::move(joined), ++version_, received_from};
  by_change_.emplace(version_, found->second);
  return true;
}

void AddressBook::forget_expired(Round now) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (!is_older(at->second.record.presence.round, now, 2)) {
      ++at;
      continue;
    }
    by_change_.erase(at->second.changed);
    by_key_.erase(at->second.record.key);
    at = entries_.erase(at);
  }
}

std::vector<MemberRecord> AddressBook::changed_since(std::uint64_t version,
                                                     const PeerId& to) const {
  std::vector<MemberRecord> records;
  for (auto at = by_change_.upper_bound(version); at != by_change_.end(); ++at) {
    const auto& [peer, entry] = *at->second;
    if (entry.received_from != to && peer != to) records.push_back(entry.record);
  }
  return records;
}

std::vector<PeerId> AddressBook::live(Round now) const {
  std::vector<PeerId> members;
  for (const auto& [peer, entry] : entries_) {
    const MemberRecord& record = entry.record;
    if (!record.standing.left && !is_older(record.presence.round, now, 1)) members.push_back(peer);
  }
  return members;
}

bool AddressBook::is_live(const PeerId& peer, Round now) const {
  const MemberRecord* const record = find(peer);
  return record != nullptr && !record->standing.left && !is_older(record->presence.round, now, 1);
}

const MemberRecord* AddressBook::find(const PeerId& peer) const {
  const auto found = entries_.find(peer);
  return found == entries_.end() ? nullptr : &found->second.record;
}

PeerAddress AddressBook::address(const PeerId& peer) const {
  const MemberRecord* const record = find(peer);
  if (record == nullptr) return {peer, {}};
  return {peer, record->standing.endpoints};
}

void AddressBook::write_fingerprint(Writer& out) const {
  out.u64(entries_.size()).u64(version_);
  for (const auto& [peer, entry] : entries_) {
    out.peer(peer).raw(signed_standing({}, entry.record.standing));
    out.round(entry.record.presence.round).u64(entry.changed);
  }
}

}  // namespace weft
