// AddressBook: the members of a run as one peer knows them, without any agreement.
//
// Each peer merges the records that others send (member_record.h); it passes changes on to its
// neighbours, and only to them. Books of connected peers become equal; until then they differ, and
// code that uses them must allow for that.
//
// Bounds: at most `records_max` records of at most kMemberRecordBytesMax bytes. A member whose
// presence is older than `expiry_rounds` counts as gone, and its record is forgotten after as many
// rounds again; until then it is kept, so that an old copy does not bring it back. A full book
// takes no further members: those it has cannot be crowded out by made-up ones.
//
// Where it stands: GossipCore owns one; Topology is computed from live(). Threads: one owner.
// Fails: kCorrupt for a record that its owner did not sign; it is not kept then.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "weft/base/status.h"
#include "weft/gossip/book/member_record.h"
#include "weft/net/transport.h"
#include "weft/wire/codec.h"

namespace weft {

// Key, counter, endpoints with their lengths, round and two signatures.
inline constexpr std::size_t kMemberRecordBytesMax =
    32 + 8 + 1 + 4 + kRecordEndpointsMax * (4 + kRecordEndpointBytesMax) + 64 + 8 + 64;

inline constexpr std::size_t kBookRecordsMax = 4096;

struct AddressBookOptions {
  RunId run{};
  // Later rounds do not exist: no presence may claim one.
  Round last_round = Round(~std::uint64_t{0});
  std::size_t records_max = kBookRecordsMax;
  std::uint64_t expiry_rounds = 64;
  // Empty: signature_valid(). A simulation may remember what it has checked.
  CheckSignature check{};
};

class AddressBook {
 public:
  explicit AddressBook(AddressBookOptions options) : options_(std::move(options)) {}
  AddressBook(const AddressBook&) = delete;
  AddressBook& operator=(const AddressBook&) = delete;

  // Adopts the parts of `record` that are newer; `from` sent it in round `now`. True if anything
  // changed.
  Result<bool> merge(const MemberRecord& record, const PeerId& from, Round now);
  // Forgets what expired twice over.
  void forget_expired(Round now);

  // Grows with every change. The version that was sent to a neighbour last is remembered with its
  // link.
  std::uint64_t version() const { return version_; }
  // The records that changed after `version`, the oldest change first, except those that came from
  // `to`.
  std::vector<MemberRecord> changed_since(std::uint64_t version, const PeerId& to) const;

  // Members that have not left and were there within expiry_rounds before `now`, by id.
  std::vector<PeerId> live(Round now) const;
  bool is_live(const PeerId& peer, Round now) const;
  // Or null; valid until the next change.
  const MemberRecord* find(const PeerId& peer) const;
  // Without endpoints if none are known.
  PeerAddress address(const PeerId& peer) const;
  std::size_t size() const { return entries_.size(); }

  // Everything that distinguishes two books.
  void write_fingerprint(Writer& out) const;

 private:
  struct Entry {
    MemberRecord record;
    std::uint64_t changed = 0;
    PeerId received_from{};
  };
  // Whether a presence in `round` is older than `ages` times expiry_rounds.
  bool is_older(Round round, Round now, std::uint64_t ages) const;
  Status check_parts(const MemberRecord& record, const MemberRecord* known) const;

  using Entries = std::map<PeerId, Entry>;

  const AddressBookOptions options_;
  Entries entries_;
  std::map<std::uint64_t, Entries::iterator> by_change_;
  // By key, whose hash the id is: most records that come are of members that are known.
  std::map<PublicKey, Entries::iterator> by_key_;
  std::uint64_t version_ = 0;
};

}  // namespace weft
