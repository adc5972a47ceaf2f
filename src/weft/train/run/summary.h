// Summary: the result of one peer at the end of its run; the fields of OUT/summary.json.
//
// Where it stands: the run loop fills it; it is written beside the event log and is also the last
// event. Threads: a value. Fails: write_summary with kUnavailable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/train/event/event.h"

namespace weft {

enum class RunEnd : std::uint8_t {
  kFinished,    // the last round is committed everywhere
  kLeft,        // a person asked this peer to leave
  kStopped,     // by itself, at the same round as all others: the loss was not a number
  kQuorumLost,  // too few members are reachable, and the recipe demands exit
  kMissed,      // the run was over before this peer had its final state
  kFailed,      // removed, refused, or the state differed
};
std::string_view to_string(RunEnd end);
// What a person can do where a run ended for the reason `status`; `checkpoint`: whether its last
// state could be saved.
std::string action_after(RunEnd end, const Status& status, const Status& checkpoint);

// What a member that averages with neighbours adds; the first three are those of its last round.
struct MixingSummary {
  std::int64_t members = 1;
  std::int64_t neighbours = 0;
  double distance = 0;
  std::int64_t missed = 0;            // parameters that did not come in time, over all rounds
  std::uint64_t rounds_left_out = 0;  // to catch up with the others
  bool common = false;                // all members have one model
};

struct Summary {
  std::string run_id;
  std::string peer_id;
  std::int64_t steps = 0;
  std::int64_t rounds = 0;  // that trained
  double final_loss = 0;    // NaN if this peer saw no round
  std::optional<double> test_accuracy;
  std::optional<double> test_loss;
  std::optional<double> test_bits_per_character;  // texts
  std::optional<double> test_mae;                 // values: mean absolute error, in their units
  std::optional<double> test_r2;                  // values: share of the variance explained
  std::string state_hash;                         // SHA-256, 64 hexadecimal digits
  std::uint64_t view_changes = 0;
  std::uint64_t rounds_rerun = 0;
  double seconds = 0;
  double seconds_lost = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  double samples_per_second = 0;  // NaN if this peer was in no round
  // The first round whose loss was not a number; 0: there was none.
  std::int64_t not_finite_round = 0;
  // With periodic evaluation: where the loss on the test set was smallest; 0: nowhere.
  std::int64_t best_step = 0;
  double best_loss = 0;
  std::optional<MixingSummary> mixing;
  // It was in a round itself; not one of those that come at the end and take the final state.
  bool took_part = false;
  RunEnd end = RunEnd::kFinished;
};

// The measurement on the test set, for people: ", test accuracy 91.20 %"; empty: nothing.
std::string test_text(const Summary& summary);
// The event "summary".
Event summary_event(const Summary& summary);
// One JSON object with the fields of the event, replacing the file at `path`.
Status write_summary(const std::string& path, const Summary& summary);

}  // namespace weft
