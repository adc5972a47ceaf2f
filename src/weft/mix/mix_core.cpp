#include "weft/mix/mix_core.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {
namespace {

// What came for later rounds than these is not kept: nobody can be so far ahead of a neighbour.
constexpr std::uint64_t kRoundsAhead = 16;

}  // namespace

MixCore::MixCore(MixCoreOptions options, MixVector first, TimePoint now)
    : options_(std::move(options)),
      method_(*options_.method),
      style_(method_.plan.style()),
      returns_(method_, options_.self, first->size(), options_.steps, options_.outputs),
      model_(std::move(first)),
      alive_(options_.members, true) {
  WEFT_CHECK(options_.self < options_.members && model_ != nullptr);
  WEFT_CHECK(options_.probe != nullptr || !method_.combine.needs_probe());
  WEFT_CHECK(options_.judge != nullptr || !method_.combine.needs_judge());
  trigger_ = method_.trigger.make(options_.members, options_.steps);
  combiner_ = method_.combine.make(options_.seed);
  outer_ = method_.outer.memory(model_->size());
  WEFT_CHECK(!options_.newcomer || style_ != MixStyle::kNeighbours);
  if (options_.versions == 0) return;
  if (style_ == MixStyle::kPairwise) {
    meeting_ = method_.plan.meeting({.self = options_.self,
                                     .members = options_.members,
                                     .versions = options_.versions,
                                     .steps = options_.steps,
                                     .seed = options_.seed},
                                    model_);
    meeting_->begin(now);
    follow_meeting(now);
  } else if (style_ == MixStyle::kNeighbours) {
    begin_round(now);
  } else if (style_ == MixStyle::kSampled) {
    if (options_.newcomer) return;
    const std::vector<std::uint32_t> first_ones = method_.plan.trainers(0, alive_);
    if (std::ranges::binary_search(first_ones, options_.self)) {
      start_work(options_.self, {0, method_.trigger.steps(0, options_.steps), model_}, now);
    }
  } else if (options_.self == 0) {
    for (std::uint32_t i = 0; i < options_.members; ++i) idle_.insert(i);
    begin_version(now);
  }
}

bool MixCore::is_possible(std::uint32_t from, std::uint64_t version) const {
  return from < options_.members && version < options_.versions;
}

bool MixCore::is_possible(const MixGiven& message) const {
  const bool wants_beside = method_.local.takes_beside(message.version, options_.self);
  if (message.model == nullptr || wants_beside != (message.beside != nullptr)) return false;
  return message.model->size() == model_->size() &&
         (!wants_beside || message.beside->size() == model_->size());
}

// It is about another member, in a round that its reporter had combined.
bool MixCore::is_possible(std::uint32_t teller, std::uint64_t base,
                          const MixHistory& history) const {
  return method_.combine.tells_histories() && history.origin < options_.members &&
         history.origin != options_.self && history.origin != teller && history.round < base &&
         history.model != nullptr && history.model->size() == model_->size();
}

MixGiven MixCore::given_to(std::uint32_t member, std::uint32_t steps) const {
  const bool wants_beside = method_.local.takes_beside(version_, member);
  return {version_, steps, model_, wants_beside ? combiner_->beside() : nullptr};
}

void MixCore::begin_version(TimePoint now) {
  collects_ = true;
  expected_ = method_.plan.trainers(version_, alive_);
  trigger_->begin(version_, expected_, now);
}

void MixCore::begin_round(TimePoint now) {
  collects_ = true;
  own_is_in_ = false;
  row_ = method_.plan.row(options_.self, version_, options_.members);
  expected_.clear();
  for (const MixWeight& source : row_) {
    if (alive_[source.member]) expected_.push_back(source.member);
  }
  trigger_->begin(version_, expected_, now);
  work_on_round(now);
  early_.erase(early_.begin(), early_.lower_bound(version_));
  const auto early = early_.find(version_);
  if (early == early_.end()) return;
  for (Contribution& each : early->second) take_in(each.from, std::move(each.what), now);
  early_.erase(early);
}

// The next round, where the model that it begins from is there.
void MixCore::work_on_round(TimePoint now) {
  const std::uint64_t round = next_round_;
  const std::uint64_t combined = round - std::min(round, method_.trigger.delay());
  if (work_ || version_ < combined || round >= options_.versions) return;
  ++next_round_;
  worked_from_.push_back(model_);
  const bool trains = round % method_.mixes == 0;
  const std::uint32_t steps = method_.trigger.steps(round, options_.steps);
  start_work(options_.self, {round, trains ? steps : 0, model_}, now);
}

// kSampled: this member combines what was trained from version `base`.
void MixCore::collect_for(std::uint64_t base, TimePoint now) {
  version_ = base;
  collects_ = true;
  contributions_.clear();
  // A new state: the old one may hold what came for a version that is over.
  trigger_ = method_.trigger.make(options_.members, options_.steps);
  expected_ = method_.plan.trainers(base, alive_);
  trigger_->begin(base, expected_, now);
}

void MixCore::given(std::uint32_t from, const MixGiven& message, TimePoint now) {
  if (!is_possible(from, message.version) || !is_possible(message)) return;
  if (style_ == MixStyle::kNeighbours) return;
  if (meeting_) {
    meeting_->answered(from, message, now);
    return follow_meeting(now);
  }
  if (style_ == MixStyle::kSampled && message.version < newest_seen_) return;
  start_work(from, message, now);
}

void MixCore::start_work(std::uint32_t from, const MixGiven& given, TimePoint now) {
  newest_seen_ = std::max(newest_seen_, given.version);
  asked_by_ = from;
  work_begun_ = now;
  work_ = MixWork{++works_, given.version, given.steps, given.model, given.beside};
  new_work_ = work_;
}

void MixCore::worked(std::uint64_t id, MixVector model, const MixLoss& loss, TimePoint now) {
  if (!work_ || work_->id != id) return;
  WEFT_CHECK(returns_.fits(options_.self, work_->version, model));
  const MixWork done = *std::exchange(work_, std::nullopt);
  MixReturned result{done.version, done.steps, to_seconds(now - work_begun_), loss,
                     std::move(model)};
  if (meeting_) {
    meeting_->worked(done, result, now);
    return follow_meeting(now);
  }
  if (style_ == MixStyle::kNeighbours) return send_to_neighbours(std::move(result), now);
  if (style_ == MixStyle::kSampled) return send_to_combiner(result, now);
  result.values = returns_.of_work(done, result.values);
  if (asked_by_ == options_.self) return returned(options_.self, std::move(result), now);
  sends_.push_back({asked_by_, std::move(result)});
}

void MixCore::follow_meeting(TimePoint now) {
  model_ = meeting_->model();
  version_ = meeting_->version();
  for (MixSend& each : meeting_->take_sends()) sends_.push_back(std::move(each));
  for (MixCombined& each : meeting_->take_combined()) combined_.push_back(std::move(each));
  if (const auto next = meeting_->take_work()) start_work(options_.self, *next, now);
}

void MixCore::send_to_neighbours(MixReturned result, TimePoint now) {
  // Work that is ahead is for a round whose neighbours may be others.
  const std::vector<MixWeight> row =
      result.base == version_ ? row_
                              : method_.plan.row(options_.self, result.base, options_.members);
  // One vector for all of them.
  MixReturned sent = result;
  sent.values = returns_.for_neighbours(result.values);
  for (const MixWeight& source : row) {
    if (source.member == options_.self || !alive_[source.member]) continue;
    sent.history = combiner_->told_to(source.member, result.base);
    sends_.push_back({source.member, sent});
  }
  // Before the own result may bring about a combination.
  work_on_round(now);
  returned(options_.self, std::move(result), now);
}

void MixCore::send_to_combiner(const MixReturned& result, TimePoint now) {
  const std::uint32_t member = method_.plan.combiner(result.base, alive_);
  sent_.emplace(member, result);
  if (member == options_.self) return returned(member, result, now);
  sends_.push_back({member, result});
}

void MixCore::returned(std::uint32_t from, MixReturned message, TimePoint now) {
  if (!is_possible(from, message.base) || !returns_.fits(from, message.base, message.values)) {
    return;
  }
  if (message.history && !is_possible(from, message.base, *message.history)) {
    message.history.reset();
  }
  if (meeting_) {
    meeting_->asked(from, message, now);
    return follow_meeting(now);
  }
  if (over()) return;
  if (style_ == MixStyle::kServer) {
    // Who has been given nothing since his last return has nothing to return.
    if (options_.self != 0 || message.base > version_ || idle_.contains(from)) return;
    idle_.insert(from);
  } else if (style_ == MixStyle::kSampled) {
    if (message.base < version_ || message.base < newest_seen_) return;
    if (!collects_ || message.base > version_) collect_for(message.base, now);
    if (method_.plan.may_train(version_, from, alive_)) trigger_->expect(from);
  } else if (message.base != version_) {
    if (message.base > version_ && message.base - version_ <= kRoundsAhead) {
      std::vector<Contribution>& round = early_[message.base];
      const bool came = std::ranges::find(round, from, &Contribution::from) != round.end();
      if (!came) round.push_back({from, std::move(message)});
    }
    return;
  }
  take_in(from, std::move(message), now);
}

void MixCore::take_in(std::uint32_t from, MixReturned message, TimePoint now) {
  const MixArrival arrival{from, message.base, message.steps, message.seconds};
  if (!trigger_->add(arrival, now)) return;
  own_is_in_ = own_is_in_ || from == options_.self;
  contributions_.push_back({from, std::move(message)});
  if (trigger_->full()) combine(now);
}

bool MixCore::may_combine(TimePoint now) const {
  if (!collects_ || contributions_.empty() || over()) return false;
  if (style_ == MixStyle::kNeighbours && !own_is_in_) return false;
  return trigger_->ready(now);
}

// The shares of those that came; what is missing goes to the own model.
std::vector<double> MixCore::row_weights() const {
  std::vector<double> weights;
  double missing = 0;
  for (const MixWeight& source : row_) {
    const bool came = std::ranges::find(contributions_, source.member, &Contribution::from) !=
                      contributions_.end();
    if (!came) missing += source.weight;
  }
  for (const Contribution& each : contributions_) {
    const auto source = std::ranges::find(row_, each.from, &MixWeight::member);
    weights.push_back(source->weight + (each.from == options_.self ? missing : 0.0));
  }
  return weights;
}

void MixCore::combine(TimePoint now) {
  const std::vector<std::optional<double>> shares = trigger_->take(now);
  std::vector<Contribution> rest;
  std::vector<double> weights;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i]) {
      weights.push_back(*shares[i]);
      std::swap(contributions_[weights.size() - 1], contributions_[i]);
    } else {
      rest.push_back(std::move(contributions_[i]));
    }
  }
  contributions_.resize(weights.size());
  if (style_ == MixStyle::kNeighbours) weights = row_weights();
  apply(weights);
  contributions_ = std::move(rest);
  if (version_ >= options_.versions) {
    collects_ = false;
  } else if (style_ == MixStyle::kServer) {
    begin_version(now);
  } else if (style_ == MixStyle::kNeighbours) {
    begin_round(now);
  } else {
    collects_ = false;
    for (const std::uint32_t member : method_.plan.trainers(version_, alive_)) {
      const MixGiven given = given_to(member, method_.trigger.steps(version_, options_.steps));
      if (member == options_.self) {
        start_work(member, given, now);
      } else if (alive_[member]) {
        sends_.push_back({member, given});
      }
    }
  }
}

void MixCore::apply(const std::vector<double>& weights) {
  // kSampled: there is no common model that the members' were trained from at hand; the mean of
  // models is zero minus the mean of zero minus models.
  std::vector<float> model =
      style_ == MixStyle::kSampled ? std::vector<float>(model_->size()) : *model_;
  std::vector<std::size_t> order(contributions_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return contributions_[i].from; });
  MixCombined made;
  MixInput input{.reference = model,
                 .deltas = {},
                 .from = {},
                 .weights = {},
                 .tensors = options_.tensors,
                 .members = options_.members,
                 .version = version_,
                 .self = options_.self,
                 .probe = options_.probe,
                 .judge = options_.judge,
                 .outputs = &options_.outputs};
  MixVector reference = model_;
  if (!worked_from_.empty()) {
    reference = std::move(worked_from_.front());
    worked_from_.pop_front();
    input.reference = *reference;
  }
  const auto own = std::ranges::find(contributions_, options_.self, &Contribution::from);
  const MixVector own_values = own != contributions_.end() ? own->what.values : nullptr;
  std::vector<MixVector> deltas;
  for (const std::size_t i : order) {
    const Contribution& each = contributions_[i];
    deltas.push_back(
        returns_.delta(each.from, each.what.base, each.what.values, input.reference, own_values));
    input.deltas.emplace_back(*deltas.back());
    input.from.push_back(each.from);
    input.weights.push_back(weights[i]);
    input.bases.push_back(each.what.base);
    input.anchors.push_back(method_.local.is_anchor(each.what.base, each.from));
    // Not before, so that a round's reports do not depend on what has come early.
    if (each.what.history) combiner_->hear(each.from, *each.what.history);
    made.loss.add(each.what.loss);
    made.staleness += static_cast<double>(version_ - each.what.base);
  }
  std::vector<float> delta(model.size());
  combiner_->combine(input, delta);
  if (method_.outputs_only) {
    const auto place = std::ranges::find(input.from, options_.self) - input.from.begin();
    returns_.keep_own(input.deltas[static_cast<std::size_t>(place)], delta);
  }
  method_.outer.step(model, delta, options_.tensors, outer_);
  model_ = std::make_shared<const std::vector<float>>(std::move(model));
  made.version = ++version_;
  made.model = model_;
  made.contributions = static_cast<std::uint32_t>(order.size());
  made.staleness /= static_cast<double>(order.size());
  combined_.push_back(std::move(made));
}

void MixCore::hand_out(TimePoint now) {
  if (style_ != MixStyle::kServer || !collects_) return;
  std::vector<std::uint32_t> starters;
  for (const std::uint32_t member : expected_) {
    const bool idle = idle_.contains(member) && alive_[member];
    if (idle && trigger_->may_start(member)) starters.push_back(member);
  }
  std::ranges::stable_sort(starters, {},
                           [this](std::uint32_t member) { return trigger_->priority(member); });
  for (const std::uint32_t member : starters) {
    if (!trigger_->may_start(member)) continue;
    idle_.erase(member);
    const MixGiven given = given_to(member, trigger_->assign(member, now));
    if (member == options_.self) {
      start_work(member, given, now);
    } else {
      sends_.push_back({member, given});
    }
  }
}

// Nothing of this member is missing here: one that has ended may leave before the others.
bool MixCore::has_all_of(std::uint32_t member) const {
  const bool came =
      std::ranges::find(contributions_, member, &Contribution::from) != contributions_.end();
  return over() || (version_ + 1 == options_.versions && came);
}

void MixCore::settle(TimePoint now) {
  if (meeting_) {
    meeting_->settle(now);
    return follow_meeting(now);
  }
  while (may_combine(now)) combine(now);
  hand_out(now);
}

void MixCore::lost(std::uint32_t member, TimePoint now) {
  if (member >= options_.members || !alive_[member]) return;
  alive_[member] = false;
  idle_.erase(member);
  if (meeting_) meeting_->lost(member);
  if (method_.local.gives_numbers() && !has_all_of(member)) {
    failure_ = unavailable(fmt::format(
        "mix: member {} is lost at version {} of {}. Some members may have its last numbers and "
        "others not, and with mix.local = \"{}\" nothing brings their models together again; "
        "begin anew, or take a method that sends models, such as local_sgd",
        member, version_, options_.versions, method_.local.text()));
  }
  trigger_->lose(member, now);
  // Nobody is left of those that were drawn for the version: others are.
  const bool none_left =
      std::ranges::none_of(expected_, [this](std::uint32_t each) { return bool(alive_[each]); });
  if (style_ == MixStyle::kServer && collects_ && contributions_.empty() && none_left) {
    begin_version(now);
  }
  if (sent_ && sent_->first == member && sent_->second.base >= newest_seen_) {
    const MixReturned again = sent_->second;
    send_to_combiner(again, now);
  }
}

void MixCore::came(std::uint32_t member) {
  if (member >= options_.members || member == options_.self || alive_[member]) return;
  alive_[member] = true;
  if (style_ == MixStyle::kServer && options_.self == 0) idle_.insert(member);
}

std::span<const std::uint32_t> MixCore::awaited() const {
  if (style_ != MixStyle::kSampled || !collects_) return {};
  return expected_;
}

std::optional<TimePoint> MixCore::next_deadline() const {
  if (meeting_) return meeting_->next_deadline();
  if (!collects_ || over()) return std::nullopt;
  if (style_ == MixStyle::kNeighbours && !own_is_in_) return std::nullopt;
  return trigger_->deadline();
}

}  // namespace weft
