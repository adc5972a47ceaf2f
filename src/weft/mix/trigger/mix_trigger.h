// MixTrigger: when a combiner combines, with what weight each contribution counts, and who gets
// work next.
//
// A text names one with its options: "round", "buffer:size=10:staleness=0.5". Each file
// NAME_trigger.cpp is one. A parsed trigger is a value; a combiner has a MixTriggerState of its
// own.
//
//   all came, or enough of them, or a time is over      round
//   so many came, from whatever version                 buffer  (1: each by itself)
//   a period is over                                    period
//   a group that was planned to come together is there  groups
//
// It says with what absolute weight a delta counts: where weights add up to less than 1 the
// combination moves less. A contribution is taken once. Weights never rise with staleness.
// Where it stands: MixCore owns a state where it combines. Threads: parsed: immutable; a state has
// one owner. It has no clock: its caller gives the time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"
#include "weft/base/time.h"

namespace weft {

struct MixTriggerDef;  // mix_trigger_def.h

// What a combiner knows of a contribution beside its values.
struct MixArrival {
  std::uint32_t from = 0;
  // The version that it was trained from.
  std::uint64_t base = 0;
  std::uint32_t steps = 0;  // local steps behind it
  double seconds = 0;       // since its member was given the version
};

// What does not change during a run.
struct MixTriggerInput {
  std::uint32_t members = 1;
  std::uint32_t steps = 1;  // local steps that members take where the trigger does not say
  // In the order of MixTriggerDef::options.
  std::vector<double> options;
};

class MixTriggerState {
 public:
  explicit MixTriggerState(MixTriggerInput input) : input_(std::move(input)) {}
  virtual ~MixTriggerState() = default;
  MixTriggerState(const MixTriggerState&) = delete;
  MixTriggerState& operator=(const MixTriggerState&) = delete;

  // Version `version` is there, and is for `expected`, by number.
  void begin(std::uint64_t version, std::span<const std::uint32_t> expected, TimePoint now);
  // False: it does not count and is forgotten. REQUIRES: arrival.base <= the version.
  bool add(const MixArrival& arrival, TimePoint now);
  // It turns out to be one of the version's members, too.
  virtual void expect(std::uint32_t /*member*/) {}
  // This member will send nothing more.
  void lose(std::uint32_t member, TimePoint now);

  // Whether to combine at once, before anything else that comes at the same moment.
  virtual bool full() const { return false; }
  // Whether the time has come to combine, once all that comes at this moment has been added.
  virtual bool ready(TimePoint now) const = 0;
  // When it may come without another event; nothing: never.
  virtual std::optional<TimePoint> deadline() const { return std::nullopt; }
  // The weights of what was added and not taken, in that order; nothing for what stays for a later
  // combination. REQUIRES: ready().
  std::vector<std::optional<double>> take(TimePoint now);
  // Whether an idle member may be given work now.
  virtual bool may_start(std::uint32_t member) const = 0;
  // The idle member with the smallest number here is given work first.
  virtual double priority(std::uint32_t /*member*/) const { return 0; }
  // It is: the number of local steps that it takes.
  virtual std::uint32_t assign(std::uint32_t member, TimePoint now);

 protected:
  virtual void on_begin(std::span<const std::uint32_t> /*expected*/, TimePoint /*now*/) {}
  virtual bool accepts(const MixArrival& /*arrival*/, TimePoint /*now*/) { return true; }
  virtual void on_lost(std::uint32_t /*member*/, TimePoint /*now*/) {}
  virtual bool takes(const MixArrival& /*arrival*/, TimePoint /*now*/) const { return true; }
  // The weight of one of arrivals().
  virtual double weight(const MixArrival& arrival) const = 0;
  virtual void on_taken(TimePoint /*now*/) {}

  const MixTriggerInput& input() const { return input_; }
  double option(std::size_t index) const { return input_.options[index]; }
  std::uint64_t version() const { return version_; }
  // Added and not taken.
  const std::vector<MixArrival>& arrivals() const { return arrivals_; }
  bool has_arrived(std::uint32_t member) const;

 private:
  const MixTriggerInput input_;
  std::uint64_t version_ = 0;
  std::vector<MixArrival> arrivals_;
};

class MixTrigger {
 public:
  static Result<MixTrigger> parse(std::string_view text);
  std::string text() const;
  // Whether it can wait for neighbours, too, who all come with one version.
  bool is_round() const;
  // Local steps that a member takes from version `version` where the recipe asks for `steps`.
  std::uint32_t steps(std::uint64_t version, std::uint32_t steps) const;
  // kNeighbours: by how many rounds the combination may come later than the next work begins.
  std::uint64_t delay() const;
  // Whether what came is enough after some time.
  bool has_timeout() const;
  std::unique_ptr<MixTriggerState> make(std::uint32_t members, std::uint32_t steps) const;

 private:
  Plugin<MixTriggerDef> plugin_;
};

// All triggers, by name.
std::span<const MixTriggerDef* const> mix_triggers();

}  // namespace weft
