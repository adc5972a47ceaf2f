#include "weft/sim/group_trainer.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "weft/train/exchange/collecting_exchange.h"

namespace weft::sim {
namespace {

// Members may be so many rounds apart before a state is computed a second time.
constexpr std::size_t kAppliedKept = 4;

// What members decide by the time that computing takes needs clocks of their own, which one Trainer
// for all does not have.
Status check_simulated(const Recipe& recipe) {
  if (recipe.group.exchange != "exact") {
    return invalid_argument(
        fmt::format("group.exchange: only exact rounds are simulated; expected exact, got {}",
                    recipe.group.exchange));
  }
  if (recipe.group.shares == "speed") {
    return invalid_argument("group.shares: a simulated group has equal shares; expected equal");
  }
  if (recipe.group.wait == "deadline") {
    return invalid_argument("group.wait: simulated rounds wait for all members; expected all");
  }
  if (aggregate_momentum(recipe) > 0) {
    return invalid_argument(fmt::format(
        "aggregate.member_momentum: simulated members have no momentum of their own; expected "
        "0 with a rule that is not auto, got {} with {}; set aggregate.rule = \"nnm "
        "trimmed_mean\"",
        recipe.aggregate.member_momentum, recipe.aggregate.rule));
  }
  if (recipe.local.overlap) {
    return invalid_argument("local.overlap: simulated rounds do not overlap; expected false");
  }
  return {};
}

void copy_into(const Array& buffer, const std::vector<float>& values) {
  Array target = buffer;
  const std::span<float> to = target.flat<float>();
  std::copy(values.begin(), values.end(), to.begin());
}

std::vector<float> copy_of(const Array& buffer) {
  const std::span<const float> from = buffer.flat<float>();
  return {from.begin(), from.end()};
}

Hash128 hash_of(std::span<const float> sums, std::span<const Bytes> reports) {
  const Hash128 vector =
      xxh3_128({reinterpret_cast<const std::uint8_t*>(sums.data()), sums.size_bytes()});
  Bytes all(vector.begin(), vector.end());
  for (const Bytes& report : reports) {
    const Hash128 one = xxh3_128(report);
    all.insert(all.end(), one.begin(), one.end());
  }
  return xxh3_128(all);
}

}  // namespace

Result<std::unique_ptr<GroupTrainer>> GroupTrainer::make(const Recipe& recipe,
                                                         const DataPlaces& places,
                                                         const Clock& clock,
                                                         const Trainer::Review& review) {
  WEFT_TRY(check_simulated(recipe));
  WEFT_TRY_ASSIGN(auto trainer, Trainer::make(recipe, places, clock, review));
  WEFT_TRY(trainer->prepare_evaluation());
  return std::unique_ptr<GroupTrainer>(new GroupTrainer(std::move(trainer)));
}

GroupTrainer::GroupTrainer(std::unique_ptr<Trainer> trainer)
    : trainer_(std::move(trainer)), shared_names_(trainer_->shared_states()) {
  for (const std::string& name : trainer_->arena().state_names()) {
    if (std::ranges::find(shared_names_, name) == shared_names_.end()) own_names_.push_back(name);
  }
  first_.shared = take_out();
  take_out_own(first_);
}

Round GroupTrainer::rounds_done(const MemberState& member) const {
  return round_after(member.shared->steps, trainer_->recipe().local.steps);
}

void GroupTrainer::put_in(const MemberState& member) {
  const SharedState& shared = *member.shared;
  ParameterArena& arena = trainer_->arena();
  std::ranges::copy(shared.parameters, arena.parameters().begin());
  for (std::size_t i = 0; i < shared_names_.size(); ++i) {
    copy_into(arena.state(shared_names_[i]), shared.states[i]);
  }
  trainer_->optimizer().set_steps(shared.steps);
  trainer_->set_validation(shared.validation);
}

void GroupTrainer::put_in_own(MemberState& member) {
  for (std::size_t i = 0; i < own_names_.size(); ++i) {
    copy_into(trainer_->arena().state(own_names_[i]), member.own[i]);
  }
  if (LocalSteps* const local = trainer_->local_steps(); local != nullptr) {
    local->put_own(std::move(member.local));
  }
}

void GroupTrainer::take_out_own(MemberState& member) {
  member.own.resize(own_names_.size());
  for (std::size_t i = 0; i < own_names_.size(); ++i) {
    member.own[i] = copy_of(trainer_->arena().state(own_names_[i]));
  }
  if (LocalSteps* const local = trainer_->local_steps(); local != nullptr) {
    member.local = local->take_own();
  }
}

std::shared_ptr<const SharedState> GroupTrainer::take_out() {
  auto out = std::make_shared<SharedState>();
  const std::span<const float> parameters = std::as_const(trainer_->arena()).parameters();
  out->parameters.assign(parameters.begin(), parameters.end());
  for (const std::string& name : shared_names_) {
    out->states.push_back(copy_of(trainer_->arena().state(name)));
  }
  out->steps = trainer_->steps_done();
  out->validation = trainer_->validation();
  out->hash = trainer_->hash();
  return out;
}

Result<RoundPart> GroupTrainer::compute(MemberState& member, const Turn& turn) {
  const bool again = member.local.phases.contains(turn.round);
  put_in(member);
  put_in_own(member);
  CollectingExchange collector;
  const Result<StepReport> ended = trainer_->run_round(turn, collector);
  take_out_own(member);
  if (ended.status().code() != Code::kAborted) return ended.status();
  RoundPart part;
  WEFT_TRY_ASSIGN(part.report, RoundReport::decode(collector.reported()));
  part.values = collector.values();
  part.samples_computed = again ? 0 : part.report.samples;
  return part;
}

Result<StepReport> GroupTrainer::apply(MemberState& member, const Turn& turn) {
  const Hash128 before = member.shared->hash.total;
  const Hash128 result = hash_of(turn.reduced, turn.reports);
  // Whatever the member has computed for this round or an earlier one is of no more use.
  auto& phases = member.local.phases;
  phases.erase(phases.begin(), phases.upper_bound(turn.round));
  const auto known = std::ranges::find_if(applied_, [&](const Applied& each) {
    return each.before == before && each.result == result;
  });
  if (known != applied_.end()) {
    member.shared = known->after;
    return known->report;
  }
  put_in(member);
  if (LocalSteps* const local = trainer_->local_steps(); local != nullptr) local->put_own({});
  WEFT_TRY_ASSIGN(StepReport report, trainer_->apply_round(turn));
  member.shared = take_out();
  applied_.push_back({before, result, member.shared, report});
  if (applied_.size() > kAppliedKept) applied_.pop_front();
  return report;
}

Bytes GroupTrainer::encode(const MemberState& member, const std::string& run_id) {
  put_in(member);
  return trainer_->encode(run_id);
}

Status GroupTrainer::adopt(MemberState& member, ByteSpan state) {
  put_in(member);
  put_in_own(member);
  Status taken = trainer_->adopt(state);
  if (taken.ok()) member.shared = take_out();
  take_out_own(member);
  return taken;
}

Status GroupTrainer::merge(MemberState& member, ByteSpan state, double weight) {
  put_in(member);
  put_in_own(member);
  Status merged = trainer_->merge(state, weight);
  if (merged.ok()) member.shared = take_out();
  take_out_own(member);
  return merged;
}

Result<RoundReport> GroupTrainer::evaluate(const MemberState& member) {
  put_in(member);
  return trainer_->evaluate_alone();
}

std::string GroupTrainer::digest(const MemberState& member) {
  put_in(member);
  return trainer_->digest();
}

}  // namespace weft::sim
