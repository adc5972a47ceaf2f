#include "weft/swarm/swarm_trainer.h"

#include <utility>

#include "weft/base/thread.h"
#include "weft/collective/swarm/member_start.h"
#include "weft/swarm/matrix_layout.h"
#include "weft/swarm/member_recipe.h"
#include "weft/swarm/member_rounds.h"

namespace weft {
namespace {

constexpr Duration kFetchLimit = std::chrono::seconds(20);

Status has_left() {
  return unavailable(
      "this member is in no group any more; found or join one with a new "
      "SwarmTrainer");
}

Result<SwarmOptions> trainer_swarm_options(const ParameterArena& arena,
                                           const SwarmTrainerOptions& options, std::string recipe) {
  WEFT_TRY_ASSIGN(SwarmOptions made,
                  member_swarm_options(options.group, options.member,
                                       {std::move(recipe), arena.layout().hash()}));
  made.codec = made.codec.with_layout(matrix_layout(arena.layout()));
  made.reports = true;  // WeightedPart
  made.vector_elements_max = arena.layout().num_elements();
  made.finish_limit = std::chrono::milliseconds(1);  // member_rounds.cpp waits before
  return made;
}

}  // namespace

class SwarmTrainer::Impl {
 public:
  Impl(const MemberModel& model, SwarmTrainerOptions options, std::unique_ptr<Swarm> swarm)
      : settings(std::move(options.settings)),
        id(swarm->self().to_string()),
        swarm_(std::move(swarm)),
        open_(swarm_),
        rounds_(model,
                {options.timeout, Round(options.group.rounds), std::move(options.before_update),
                 std::move(options.stop)},
                *swarm_) {}

  // Calls body(rounds); where that fails the member cannot go on, and its links are dropped.
  template <class Body>
  auto guarded(Body body) -> decltype(body(std::declval<MemberRounds&>())) {
    if (swarm_ == nullptr) return has_left();
    try {
      auto result = body(rounds_);
      if (!result.ok()) close();
      return result;
    } catch (...) {
      close();
      throw;
    }
  }

  Status leave(Duration limit) {
    if (swarm_ == nullptr) return {};
    Status left = rounds_.leave(limit);
    close();
    return left;
  }

  // For any thread; null after close().
  std::shared_ptr<Swarm> open() {
    return open_.with([](const std::shared_ptr<Swarm>& swarm) { return swarm; });
  }

  const MemberRounds& rounds() const { return rounds_; }
  const std::string settings;
  const std::string id;

 private:
  void close() {
    open_.with([](std::shared_ptr<Swarm>& swarm) { swarm.reset(); });
    swarm_.reset();
  }

  std::shared_ptr<Swarm> swarm_;
  Guarded<std::shared_ptr<Swarm>> open_;
  MemberRounds rounds_;
};

Result<std::unique_ptr<SwarmTrainer>> SwarmTrainer::found(ParameterArena& arena,
                                                          Optimizer& optimizer,
                                                          SwarmTrainerOptions options) {
  WEFT_TRY_ASSIGN(std::string recipe,
                  format_member_recipe({options.program, options.settings, options.group}));
  WEFT_TRY_ASSIGN(SwarmOptions made, trainer_swarm_options(arena, options, std::move(recipe)));
  WEFT_TRY_ASSIGN(auto swarm, Swarm::found(std::move(made)));
  const MemberModel model{arena, optimizer, options.program};
  return std::make_unique<SwarmTrainer>(
      std::make_unique<Impl>(model, std::move(options), std::move(swarm)));
}

Result<std::unique_ptr<SwarmTrainer>> SwarmTrainer::join(const std::string& ticket,
                                                         ParameterArena& arena,
                                                         Optimizer& optimizer,
                                                         SwarmTrainerOptions options) {
  WEFT_TRY_ASSIGN(Ticket parsed, parse_ticket(ticket));
  WEFT_TRY_ASSIGN(std::string text,
                  Swarm::fetch_recipe(parsed, PeerIdentity::generate(), kFetchLimit));
  WEFT_TRY_ASSIGN(MemberRecipe recipe, parse_member_recipe(text));
  if (recipe.program != options.program) {
    return invalid_argument("join: expected the program \"" + recipe.program +
                            "\", which has founded the group, got \"" + options.program + "\"");
  }
  options.group = std::move(recipe.group);
  options.settings = std::move(recipe.settings);
  WEFT_TRY_ASSIGN(SwarmOptions made, trainer_swarm_options(arena, options, std::move(text)));
  WEFT_TRY_ASSIGN(auto swarm, Swarm::join(std::move(made), parsed));
  const MemberModel model{arena, optimizer, options.program};
  return std::make_unique<SwarmTrainer>(
      std::make_unique<Impl>(model, std::move(options), std::move(swarm)));
}

SwarmTrainer::SwarmTrainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SwarmTrainer::~SwarmTrainer() = default;

Result<bool> SwarmTrainer::next() {
  return impl_->guarded([](MemberRounds& rounds) { return rounds.next(); });
}

Result<SwarmStep> SwarmTrainer::step(const SwarmPart& part) {
  WEFT_TRY(impl_->rounds().check_step(part));
  return impl_->guarded([&](MemberRounds& rounds) { return rounds.step(part); });
}

Status SwarmTrainer::leave(std::chrono::milliseconds limit) { return impl_->leave(limit); }

int SwarmTrainer::rank() const { return impl_->rounds().rank(); }
int SwarmTrainer::members() const { return impl_->rounds().members(); }
std::uint64_t SwarmTrainer::rounds_done() const { return impl_->rounds().done().value(); }
bool SwarmTrainer::finished() const { return impl_->rounds().finished(); }
std::string SwarmTrainer::state_hash() const { return to_hex(impl_->rounds().hash().total); }
const std::string& SwarmTrainer::settings() const { return impl_->settings; }
const std::string& SwarmTrainer::id() const { return impl_->id; }

Result<std::string> SwarmTrainer::ticket(std::chrono::minutes valid_for) {
  const auto swarm = impl_->open();
  if (swarm == nullptr) return has_left();
  WEFT_TRY_ASSIGN(const Ticket made, swarm->ticket(valid_for));
  return format_ticket(made);
}

Result<SwarmTrainerStatus> SwarmTrainer::status() {
  const auto swarm = impl_->open();
  if (swarm == nullptr) return has_left();
  WEFT_TRY_ASSIGN(const SwarmStatus asked, swarm->status());
  SwarmTrainerStatus status;
  status.state = asked.state;
  for (const PeerStatus& member : asked.members) status.members.push_back(member.id.to_string());
  status.view_changes = asked.view_changes;
  status.rounds_rerun = asked.rounds_rerun;
  status.bytes_sent = asked.bytes_sent;
  status.bytes_received = asked.bytes_received;
  return status;
}

std::vector<std::string> SwarmTrainer::take_events() {
  std::vector<std::string> sentences;
  const auto swarm = impl_->open();
  if (swarm == nullptr) return sentences;
  for (const SwarmEvent& event : swarm->take_events()) sentences.push_back(sentence_of(event));
  return sentences;
}

}  // namespace weft
