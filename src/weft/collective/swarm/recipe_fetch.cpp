// Swarm::fetch_recipe: asks a ticket's members in turn for the recipe, before there is a swarm.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/net/event_loop.h"
#include "weft/net/tls_transport.h"
#include "weft/peer/admission.h"
#include "weft/wire/end_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/join_message.h"

namespace weft {

// A member with too many strangers may turn a newcomer away, which then tries again for this long.
static constexpr Duration kAgainFor = std::chrono::seconds(5);
static constexpr Duration kPauseMin = std::chrono::milliseconds(100);
static constexpr Duration kPauseMax = std::chrono::seconds(1);

// Asks one member at a time; done once there is a text, or no member is left to ask. A member whose
// link breaks is dialled once more: if no process listens then, it has just ended. Where links
// broke twice, all are asked again after a random pause, which grows, so that newcomers that were
// turned away together do not return together.
class RecipeFetch final : public TransportHandler {
 public:
  RecipeFetch(const Ticket& ticket, Transport& transport, EventLoop& loop)
      : ticket_(ticket),
        transport_(transport),
        loop_(loop),
        rng_(std::hash<PeerId>()(transport.self())),
        again_until_(loop.now() + kAgainFor) {}
  // The ticket, or one of the run that goes on from it.
  Ticket found() const {
    Ticket out = ticket_;
    if (!successor_) return out;
    out.run = successor_->run;
    out.recipe = recipe_check(out.run, successor_->invitation, successor_->recipe_hash);
    out.invitation = successor_->invitation;
    out.expiry_unix_s = successor_->expiry_unix_s;
    out.secret = successor_->secret;
    // Whoever gave it is a member; what the others are is not known.
    out.members = {ticket_.members[asked_]};
    return out;
  }

  bool done() const { return text_ || (asked_ >= ticket_.members.size() && !pausing_); }
  // Asks the next member; done() if there is none.
  void ask_next(const Status& why) {
    last_fault_ = why;
    again_ = false;
    if (text_) return;
    if (++asked_ < ticket_.members.size()) return transport_.connect(ticket_.members[asked_]);
    if (std::exchange(broken_, false) && !ended_with_ && loop_.now() < again_until_)
      ask_all_later();
  }
  void begin() { transport_.connect(ticket_.members[0]); }

  Result<std::string> result() const {
    if (text_) return *text_;
    if (ended_with_) {
      return unavailable(
          fmt::format("the run ended at round {}, before this peer had taken its "
                      "state",
                      ended_with_->value()));
    }
    // That counts more than that another member is gone.
    if (!revoked_.ok()) return revoked_;
    return last_fault_.ok() ? timed_out("recipe: no member of the ticket gave an answer in time")
                            : last_fault_;
  }

  RunNews news() const {
    RunNews news;
    news.ended_with = ended_with_;
    news.deserted = deserted_ == ticket_.members.size();
    news.left = left_;
    return news;
  }

  void on_link_up(const LinkInfo& link) override {
    if (link.peer != current()) return;
    const ProofLink proof{transport_.self(), link.peer, link.exporter};
    const RecipeRequestMessage request{make_proof(ticket_, ProofPurpose::kRecipe, proof)};
    const Status sent = transport_.send(link.peer, Lane::kControl,
                                        {frame_type::kRecipeRequest, request.encode(), {}});
    if (!sent.ok()) ask_next(sent);
  }

  void on_link_down(const PeerId& peer, const Status& why) override {
    if (peer != current() || done()) return;
    if (why.code() == Code::kAborted) {
      // Another process has this peer's identity: no member will take both.
      asked_ = ticket_.members.size() - 1;
      return ask_next(invalid_argument(why.message()));
    }
    const bool nobody = nobody_listens(why);
    if (!nobody && why.code() == Code::kUnavailable && !std::exchange(again_, true)) {
      return transport_.connect(ticket_.members[asked_]);
    }
    deserted_ += nobody ? 1 : 0;
    left_ = left_ || (nobody && (again_ || broken_before_));
    broken_ = broken_ || (!nobody && why.code() == Code::kUnavailable);
    ask_next(why);
  }

  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    if (from != current() || done()) return;
    if (frame.type == frame_type::kRecipe) {
      const Result<RecipeMessage> recipe = RecipeMessage::decode(frame.head);
      if (!recipe.ok()) return ask_next(recipe.status());
      const Hash256 given = sha256(as_bytes(std::string_view(recipe->text)));
      const bool named = recipe->successor ? given == recipe->successor->recipe_hash
                                           : names_recipe(ticket_, given);
      if (!named) {
        return ask_next(corrupt("recipe: the member's text is not the one the ticket names"));
      }
      text_ = recipe->text;
      successor_ = recipe->successor;
    } else if (frame.type == frame_type::kRunOver) {
      const Result<RunOverMessage> over = RunOverMessage::decode(frame.head);
      if (!over.ok()) return ask_next(over.status());
      ended_with_ = over->round;
      ask_next(unavailable("recipe: the run is over"));
    } else if (frame.type == frame_type::kJoinRefused) {
      const Result<JoinRefusedMessage> refused = JoinRefusedMessage::decode(frame.head);
      if (refused.ok() && refused->code == RefusalCode::kRevoked) {
        revoked_ = refusal_status(*refused);
      }
      ask_next(refused.ok() ? refusal_status(*refused) : refused.status());
    }
  }

  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

 private:
  // Where no other try can end otherwise, the ticket is at fault.
  static Status refusal_status(const JoinRefusedMessage& refused) {
    std::string text = "recipe: refused: " + refused.reason;
    return final_refusal(refused.code) ? invalid_argument(std::move(text))
                                       : unavailable(std::move(text));
  }

  PeerId current() const {
    return asked_ < ticket_.members.size() ? ticket_.members[asked_].id : PeerId{};
  }

  void ask_all_later() {
    pausing_ = broken_before_ = true;
    const auto drawn = std::chrono::duration_cast<Duration>(pause_ * (0.5 + rng_.uniform()));
    pause_ = std::min(2 * pause_, kPauseMax);
    loop_.call_at(loop_.now() + drawn, [this] {
      pausing_ = false;
      asked_ = deserted_ = 0;
      begin();
    });
  }

  const Ticket& ticket_;
  Transport& transport_;
  EventLoop& loop_;
  Rng rng_;
  TimePoint again_until_;
  Duration pause_ = kPauseMin;
  bool pausing_ = false;
  // A member was dialled twice, and had or made no link that lasted; in this turn, or before.
  bool broken_ = false;
  bool broken_before_ = false;
  std::size_t asked_ = 0;
  // The present one was dialled twice.
  bool again_ = false;
  std::size_t deserted_ = 0;
  bool left_ = false;
  std::optional<Round> ended_with_;
  std::optional<std::string> text_;
  std::optional<SuccessorRun> successor_;
  Status last_fault_;
  // A member's report that the ticket was revoked; ok if there is none.
  Status revoked_;
};

Result<std::string> Swarm::fetch_recipe(const Ticket& ticket, const PeerIdentity& identity,
                                        Duration limit, RunNews* news) {
  Ticket found = ticket;
  WEFT_TRY_ASSIGN(std::string text, follow_recipe(found, identity, limit, news));
  if (found.run == ticket.run) return text;
  return unavailable("recipe: the run of this ticket has ended; another one goes on from it");
}

Result<std::string> Swarm::follow_recipe(Ticket& ticket, const PeerIdentity& identity,
                                         Duration limit, RunNews* news) {
  WEFT_TRY(check_expiry(ticket, SystemClock().unix_time_s()));
  if (ticket.members.empty()) return invalid_argument("ticket: names no member");
  EventLoop loop;
  ListenOptions listen;
  listen.host = "127.0.0.1";
  WEFT_TRY_ASSIGN(const std::unique_ptr<Transport> transport,
                  make_tls_transport(loop, identity, listen));
  RecipeFetch fetch(ticket, *transport, loop);
  transport->set_handler(fetch);
  fetch.begin();
  loop.run_until([&] { return fetch.done(); }, limit);
  if (news != nullptr) *news = fetch.news();
  Result<std::string> text = fetch.result();
  if (text.ok()) ticket = fetch.found();
  return text;
}

}  // namespace weft
