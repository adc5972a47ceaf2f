// Each field of each part is changed, one after the other: the fingerprint of the membership must
// tell. A new field that nobody lists does not compile (base/fields.h); one that is listed and is
// written by nobody fails here.
#include "weft/peer/parts/fingerprint.h"

#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/net/sim_network.h"
#include "weft/peer/parts/membership_core.h"
#include "weft/peer/test_peer.h"
#include "weft/wire/core/field_changes.h"

namespace weft {

// The one way to what a part owns.
struct StateAccess {
  template <class Part>
  static auto& of(Part& part) {
    return part.state_;
  }
};

static View view_of_somebody() {
  View view;
  view.id = FieldChanges::some_view();
  view.members = {Member{FieldChanges::somebody(), 1, {}, 0}};
  return view;
}

template <>
struct FieldSample<Watched> {
  static Watched make() {
    return Watched(FailureDetector(std::chrono::seconds(1), std::chrono::seconds(2), {}), {});
  }
};
template <>
struct FieldSample<Agreement> {
  static Agreement make() { return {view_of_somebody(), FieldChanges::somebody()}; }
};
template <>
struct FieldSample<PastLife> {
  static PastLife make() { return {4, {}, view_of_somebody(), FieldSample<Agreement>::make(), {}}; }
};

static void vary_field(FieldChanges& changes, View& value, const std::string& what) {
  changes.vary(value.id, what);
}
static void vary_field(FieldChanges& changes, Member& value, const std::string& what) {
  changes.vary(value.id, what);
  changes.vary(value.incarnation, what);
}
static void vary_field(FieldChanges& changes, PeerAddress& value, const std::string& what) {
  changes.vary(value.id, what);
}
static void vary_field(FieldChanges& changes, Departure& value, const std::string& what) {
  changes.vary(value.incarnation, what);
  changes.vary(value.cause, what);
}
static void vary_field(FieldChanges& changes, EarlierRun& value, const std::string& what) {
  changes.vary(value.run, what);
  changes.vary(value.generation, what);
}
// What it says is in its message; a fingerprint has all of that.
static void vary_field(FieldChanges& changes, StandingMessage& value, const std::string& what) {
  changes.vary(value.samples, what);
}
static void vary_field(FieldChanges& changes, Revocations& value, const std::string& what) {
  changes.vary_by(value, what, [](Revocations& it) { it.ban({FieldChanges::somebody(), "lied"}); });
  changes.vary_by(value, what, [](Revocations& it) { it.revoke(InvitationId{5}); });
  changes.vary_by(value, what, [](Revocations& it) { it.renew(Hash256{5}); });
}
static void vary_field(FieldChanges& changes, Accusations& value, const std::string& what) {
  changes.vary_by(value, what, [](Accusations& it) {
    it.add(FieldChanges::somebody(), FieldChanges::somebody_else(), {});
  });
}
static void vary_field(FieldChanges& changes, Agreement& value, const std::string& what) {
  const Agreement before = value;
  value.resume(Ballot{9, FieldChanges::somebody()}, std::nullopt);
  changes.changed(what);
  value.start(2);
  changes.changed(what);
  value = before;
}
// For an optional one only its presence counts, which was checked already.
static void vary_field(FieldChanges& /*changes*/, LinkInfo& /*value*/,
                       const std::string& /*what*/) {}

namespace fingerprint_test {
namespace {

class FingerprintTest : public testing::Test {
 protected:
  Hash128 look() {
    Fingerprint out;
    core().fingerprint(out);
    return out.finish();
  }

  Membership::Core& core() { return const_cast<Membership::Core&>(peer_.membership->core()); }

 private:
  SimNetwork net_{SimNetworkOptions{}};
  TestPeer peer_{net_, test_membership(test_peer_id(1))};
};

TEST_F(FingerprintTest, EachFieldOfEachPartIsTold) {
  std::set<Hash128> seen = {look()};
  FieldChanges changes([&](const std::string& what) {
    EXPECT_TRUE(seen.insert(look()).second) << what << " is in no fingerprint";
  });
  changes.vary(static_cast<MembershipCoreState&>(core()), "core");
  std::apply(
      [&](auto&... part) {
        int number = 0;
        (changes.vary(StateAccess::of(part), "part no. " + std::to_string(++number)), ...);
      },
      core().parts());
  EXPECT_GT(seen.size(), 100U);
}

TEST_F(FingerprintTest, ACopyLooksTheSame) {
  for (const bool member : {false, true}) {
    if (member) core().found();
    Fingerprint first;
    core().fingerprint(first);
    Fingerprint second;
    Membership::Core(core()).fingerprint(second);
    EXPECT_EQ(first.finish(), second.finish());
  }
}

}  // namespace
}  // namespace fingerprint_test
}  // namespace weft
