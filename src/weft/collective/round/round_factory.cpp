#include "weft/collective/round/round_factory.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "weft/base/exception_status.h"
#include "weft/collective/link/hosts.h"

namespace weft {

static constexpr std::size_t kBuffersKept = 96;

void RoundFactory::on_view(const View& view, Rank self) {
  view_ = view;
  self_ = self;
  hosts_.clear();
  if (options_.by_host) hosts_ = hosts_of(view);
  roundings_.clear();
  if (const bool shares = shares_host(view, self); shares != shares_host_) {
    shares_host_ = shares;
    buffers_.clear();
  }
}

// --- Teams.

Result<Team> RoundFactory::team(const ExchangePlan& exchange) const {
  return Team::derive(view_.id, view_.size(), exchange.purpose);
}

Result<std::vector<Team>> RoundFactory::teams_of(const RoundPlan& plan) const {
  std::vector<Team> teams;
  std::vector<bool> gives(view_.members.size());
  for (const ExchangePlan& each : plan.exchanges) {
    WEFT_TRY_ASSIGN(Team made, team(each));
    for (const Rank member : made.members()) gives[static_cast<std::size_t>(member.value())] = true;
    teams.push_back(std::move(made));
  }
  // The others would be done with a round that such a member has not begun yet.
  const auto idle = std::ranges::find(gives, false);
  if (idle != gives.end() && !options_.reports) {
    return invalid_argument(
        fmt::format("round: rank {} is in the team of no exchange, which needs "
                    "rounds with reports",
                    idle - gives.begin()));
  }
  return teams;
}

Status RoundFactory::can_aggregate(const RoundPlan& plan) const {
  const AllReduceOptions& options = options_.all_reduce;
  if (options.aggregator.is_mean()) return {};
  for (const ExchangePlan& each : plan.exchanges) {
    WEFT_TRY_ASSIGN(const Team made, team(each));
    WEFT_TRY(options.aggregator.check(made.size(), options.aggregate_round.liars));
  }
  return {};
}

std::vector<int> RoundFactory::hosts_in(const Team& team) const {
  if (hosts_.empty()) return {};
  std::vector<int> hosts;
  for (const Rank member : team.members()) {
    hosts.push_back(hosts_[static_cast<std::size_t>(member.value())]);
  }
  std::vector<int> different = hosts;
  std::ranges::sort(different);
  const auto count = std::unique(different.begin(), different.end()) - different.begin();
  if (count <= 1 || count == team.size()) return {};
  return hosts;
}

// --- A round.

Result<std::shared_ptr<RoundAttempt>> RoundFactory::open(const CollectiveId& id,
                                                         const RoundPlan& plan,
                                                         CollectiveSink& members) {
  WEFT_TRY(plan.check(std::numeric_limits<std::int64_t>::max()));
  WEFT_TRY_ASSIGN(std::vector<Team> teams, teams_of(plan));
  if (const Status enough = can_aggregate(plan); !enough.ok()) return aborted(enough.message());
  std::vector<std::unique_ptr<TeamExchange>> exchanges;
  std::shared_ptr<FloatBuffer> result;
  try {
    result = take_buffer(plan.elements());
    std::vector<std::int64_t> lengths;
    for (const ExchangePlan& each : plan.exchanges) lengths.push_back(each.elements);
    codec_.begin(id.round, lengths);
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const std::int64_t elements = plan.exchanges[i].elements;
      // One exchange writes to the whole buffer.
      const auto place = teams.size() == 1
                             ? result
                             : std::make_shared<FloatBuffer>(result, plan.offset(i), elements);
      exchanges.push_back(make_exchange({id.view, id.round, static_cast<std::uint8_t>(i)},
                                        std::move(teams[i]), elements, members, place));
    }
  } catch (const std::bad_alloc& fault) {
    return exception_status(fmt::format("round {}", id.round.value()), fault);
  }
  return std::make_shared<RoundAttempt>(id, plan, std::move(exchanges), std::move(result),
                                        options_.reports ? view_.members.size() : 0, self_);
}

// The same at all members. Whoever is in the view can compute it before the round begins.
static std::uint64_t aggregate_seed(const ExchangeId& id) {
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i) seed = seed << 8U | id.view.hash[i];
  return seed + id.round.value() + (static_cast<std::uint64_t>(id.exchange) << 56U);
}

std::unique_ptr<TeamExchange> RoundFactory::make_exchange(const ExchangeId& id, Team team,
                                                          std::int64_t elements,
                                                          CollectiveSink& members,
                                                          std::shared_ptr<FloatBuffer> result) {
  AllReduceOptions options = options_.all_reduce;
  options.id = id;
  options.link = profile_of(view_.links, options.link);
  options.residual = rounding(id.exchange, elements);
  options.encoder = codec_.encoder(id.exchange);
  options.aggregate_round.seed = aggregate_seed(id);
  const bool is_large =
      elements > static_cast<std::int64_t>(options.direct_bytes_max / sizeof(float));
  const bool adds = options.aggregator.is_mean();
  if (is_large && adds && options.algorithm == Algorithm::kAuto) {
    options.hosts = hosts_in(team);
    if (!options.hosts.empty()) options.algorithm = Algorithm::kHierarchical;
  }
  for (const Rank member : team.members()) {
    options.verification.members.push_back(
        view_.members[static_cast<std::size_t>(member.value())].id);
  }
  return std::make_unique<TeamExchange>(std::move(team), self_, std::move(options), members,
                                        std::move(result), options_.make_core);
}

// --- What outlives a round.

std::shared_ptr<FloatBuffer> RoundFactory::rounding(std::size_t exchange, std::int64_t elements) {
  const bool rounds = options_.all_reduce.precision != WirePrecision::kF32 && view_.size() > 1;
  if (!rounds || elements == 0) return nullptr;
  if (roundings_.size() <= exchange) roundings_.resize(exchange + 1);
  std::shared_ptr<FloatBuffer>& kept = roundings_[exchange];
  if (!kept || static_cast<std::int64_t>(kept->span().size()) != elements) {
    kept = std::make_shared<FloatBuffer>(elements);
    std::ranges::fill(kept->span(), 0.0F);
  }
  return kept;
}

std::shared_ptr<FloatBuffer> RoundFactory::take_buffer(std::int64_t elements) {
  const auto size = static_cast<std::size_t>(elements);
  for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
    if (it->use_count() > 1 || (*it)->span().size() != size) continue;
    std::shared_ptr<FloatBuffer> buffer = *it;
    // The one that rests longest is taken first: frames may still read the last ones.
    buffers_.erase(it);
    buffers_.push_back(buffer);
    return buffer;
  }
  auto buffer = std::make_shared<FloatBuffer>(
      elements, shares_host_ ? FloatBuffer::Kind::kShareable : FloatBuffer::Kind::kPrivate);
  if (buffers_.size() >= kBuffersKept) buffers_.erase(buffers_.begin());
  buffers_.push_back(buffer);
  return buffer;
}

}  // namespace weft
