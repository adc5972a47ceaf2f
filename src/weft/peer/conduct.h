// Conduct: this peer's scores of others, and Accusations: which members accuse which.
//
// There is one score per peer, from observations here. Each offence has a weight that halves after
// a while, so that accidents are forgotten and repeated offences add up. Suspicion alone never
// reaches the limit: an unreliable link must not get a member expelled.
//
// A member accuses another one when its own score of it reaches the limit, when it has itself
// observed a part of what others accuse that member of, or when a person orders it. A frame proves
// nothing to a third peer, so an accusation is a vote, not evidence: a member is expelled when more
// than half of the others accuse it.
//
// Only what arrived over an authenticated link counts: an attacker on the network path can break
// records, and must not be able to get members expelled in this way.
//
// Threads: values. Fails: never; both are bounded.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/time.h"
#include "weft/peer/view.h"
#include "weft/wire/admission_message.h"

namespace weft {

// At this score a member is accused, and a stranger gets no link.
inline constexpr double kConductLimit = 100.0;
// With this score of its own a member joins the accusation of another.
inline constexpr double kConductDoubt = 25.0;

double weight_of(Offence offence);

class Conduct {
 public:
  // Adds an offence; false if it does not count because the last of its kind was just now.
  bool note(const PeerId& peer, Offence offence, const std::string& evidence, TimePoint now);
  double score(const PeerId& peer, TimePoint now) const;
  bool bad(const PeerId& peer, TimePoint now) const { return score(peer, now) >= kConductLimit; }
  // The gravest offence and its evidence; nothing for a peer without one.
  std::optional<AccusationMessage> charge(const PeerId& peer) const;
  std::size_t size() const { return records_.size(); }

 private:
  struct Record {
    double score = 0;
    TimePoint at;
    TimePoint suspicion_at;
    Offence worst = Offence::kMalformed;
    std::string evidence;
  };
  void make_room(TimePoint now);
  static double decayed(const Record& record, TimePoint now);

  std::map<PeerId, Record> records_;
};

class Accusations {
 public:
  struct Charge {
    Offence offence = Offence::kMalformed;
    std::string evidence;
  };

  // False if `accuser` has accused it before, or accuses too many.
  bool add(const PeerId& accused, const PeerId& accuser, Charge charge);
  bool accuses(const PeerId& accuser, const PeerId& accused) const;
  int count(const PeerId& accused) const;
  // Whether more than half of the other members of `view` accuse it.
  bool convicts(const View& view, const PeerId& accused) const;
  // For people: how many accuse it and the first of their reasons.
  std::string verdict(const View& view, const PeerId& accused) const;
  // Those whom `accuser` accuses, with its reasons.
  std::vector<AccusationMessage> by(const PeerId& accuser) const;
  std::vector<PeerId> accused() const;
  // Each accused with each of its accusers, in order.
  std::vector<std::pair<PeerId, PeerId>> pairs() const;
  // Forgets peers that are not members of `view`.
  void keep(const View& view);

 private:
  // By accused, then by accuser.
  std::map<PeerId, std::map<PeerId, Charge>> charges_;
  std::map<PeerId, int> made_;
};

}  // namespace weft
