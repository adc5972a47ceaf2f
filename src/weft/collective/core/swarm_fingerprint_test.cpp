// Each field of each part is changed, one after the other: the fingerprint of the swarm must tell.
// A new field that nobody lists does not compile (base/fields.h); one that is listed and is written
// by nobody fails here.
#include "weft/collective/parts/swarm_fingerprint.h"

#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "weft/collective/core/test_swarm_parts.h"
#include "weft/wire/core/field_changes.h"

namespace weft {

// The one way to what a part owns.
struct SwarmStateAccess {
  template <class Part>
  static auto& of(Part& part) {
    return part.state_;
  }
};

static void vary_field(FieldChanges& changes, View& value, const std::string& what) {
  changes.vary(value.id, what);
}
// For an optional one only its presence counts, which was checked already.
static void vary_field(FieldChanges& /*changes*/, LinkInfo& /*value*/,
                       const std::string& /*what*/) {}
static void vary_field(FieldChanges& changes, Status& value, const std::string& what) {
  changes.vary_by(value, what, [](Status& it) { it = corrupt("it lied"); });
  changes.vary_by(value, what, [](Status& it) { it = unavailable("it is gone"); });
}
static void vary_field(FieldChanges& changes, CollectiveId& value, const std::string& what) {
  changes.vary(value.view, what);
  changes.vary(value.round, what);
}
static void vary_field(FieldChanges& changes, RoundOutcome& value, const std::string& what) {
  changes.vary(value.round, what);
  changes.vary(value.status, what);
  changes.vary(value.hash, what);
}
static void vary_field(FieldChanges& changes, StandIn& value, const std::string& what) {
  static const float kCarried[1] = {};
  changes.vary_by(value, what, [](StandIn& it) { it.deadline = Duration(1); });
  changes.vary_by(value, what, [](StandIn& it) { it.carried = kCarried; });
  changes.vary(value.elements, what);
}
static void vary_field(FieldChanges& changes, RoundWait& value, const std::string& what) {
  changes.vary(value.round, what);
  changes.vary(value.elements, what);
  changes.vary(value.computing, what);
  changes.vary(value.owing, what);
}
static void vary_field(FieldChanges& changes, StateFetch::Snapshot& value,
                       const std::string& what) {
  changes.vary(value.round, what);
  changes.vary(value.root, what);
}
static void vary_field(FieldChanges& changes, AbsorbedBranch& value, const std::string& what) {
  changes.vary(value.branch, what);
  changes.vary(value.until, what);
}
static void vary_field(FieldChanges& changes, StateHistory& value, const std::string& what) {
  changes.vary(value.branch, what);
  changes.vary(value.samples, what);
  changes.vary(value.absorbed, what);
}
static void vary_field(FieldChanges& changes, MergeDirective& value, const std::string& what) {
  changes.vary(value.branch, what);
  changes.vary(value.view, what);
  changes.vary(value.round, what);
  changes.vary(value.snapshot, what);
  changes.vary(value.samples, what);
  changes.vary(value.own_samples, what);
}
static void vary_field(FieldChanges& changes, HeldClaim& value, const std::string& what) {
  changes.vary(value.generation, what);
  changes.vary(value.round, what);
  changes.vary(value.view_generation, what);
}
static void vary_field(FieldChanges& changes, PastRun& value, const std::string& what) {
  changes.vary(value.run, what);
  changes.vary(value.generation, what);
  changes.vary(value.until, what);
}
// What it says is in its message; a fingerprint has all of that.
static void vary_field(FieldChanges& changes, HeldStateMessage& value, const std::string& what) {
  changes.vary(value.round, what);
  changes.vary(value.history, what);
}

namespace swarm_fingerprint_test {
namespace {

Hash128 look(SwarmParts& parts) {
  Fingerprint out;
  parts.fingerprint(out);
  return out.finish();
}

TEST(SwarmFingerprint, TellsEachFieldOfEachPart) {
  LoneSwarmParts swarm;
  std::set<Hash128> seen = {look(swarm.parts)};
  FieldChanges changes([&](const std::string& what) {
    EXPECT_TRUE(seen.insert(look(swarm.parts)).second) << what << " is in no fingerprint";
  });
  const Hash128 before = look(swarm.parts);
  std::apply(
      [&](auto&... part) {
        int number = 0;
        (changes.vary(SwarmStateAccess::of(part), "part no. " + std::to_string(++number)), ...);
      },
      swarm.parts.parts());
  EXPECT_GT(seen.size(), 120U);
  EXPECT_EQ(look(swarm.parts), before) << "a change was not put back";
}

TEST(SwarmFingerprint, IsTheSameAfterTheSameEvents) {
  LoneSwarmParts first;
  LoneSwarmParts second;
  const Hash128 unborn = look(first.parts);
  first.found();
  EXPECT_NE(look(first.parts), unborn);
  EXPECT_NE(look(first.parts), look(second.parts));
  second.found();
  EXPECT_EQ(look(first.parts), look(second.parts));
}

}  // namespace
}  // namespace swarm_fingerprint_test
}  // namespace weft
