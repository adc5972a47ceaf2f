// Swarm::fetch_recipe: asks a ticket's members in turn for the recipe, before there is a swarm.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "weft/collective/swarm.h"
#include "weft/net/event_loop.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/join_message.h"

namespace weft {

// Asks one member at a time; done once there is a text, or nobody is left to ask.
class RecipeFetch final : public TransportHandler {
 public:
  RecipeFetch(const Ticket& ticket, Transport& transport)
      : ticket_(ticket), transport_(transport) {}

  bool done() const { return text_ || asked_ >= ticket_.members.size(); }
  // Asks the next member; done() if there is none.
  void ask_next(const Status& why) {
    last_fault_ = why;
    if (text_ || ++asked_ >= ticket_.members.size()) return;
    transport_.connect(ticket_.members[asked_]);
  }
  void begin() { transport_.connect(ticket_.members[0]); }

  Result<std::string> result() const {
    if (text_) return *text_;
    return last_fault_.ok() ? timed_out("recipe: no member of the ticket gave an answer in time")
                            : last_fault_;
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
    if (peer == current() && !done()) ask_next(why);
  }

  void on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) override {
    if (from != current() || done()) return;
    if (frame.type == frame_type::kRecipe) {
      const Result<RecipeMessage> recipe = RecipeMessage::decode(frame.head);
      if (!recipe.ok()) return ask_next(recipe.status());
      if (sha256(as_bytes(std::string_view(recipe->text))) != ticket_.recipe_hash) {
        return ask_next(corrupt("recipe: the member's text is not the one the ticket names"));
      }
      text_ = recipe->text;
    } else if (frame.type == frame_type::kJoinRefused) {
      const Result<JoinRefusedMessage> refused = JoinRefusedMessage::decode(frame.head);
      ask_next(refused.ok() ? unavailable("recipe: refused: " + refused->reason)
                            : refused.status());
    }
  }

  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

 private:
  PeerId current() const {
    return asked_ < ticket_.members.size() ? ticket_.members[asked_].id : PeerId{};
  }

  const Ticket& ticket_;
  Transport& transport_;
  std::size_t asked_ = 0;
  std::optional<std::string> text_;
  Status last_fault_;
};

Result<std::string> Swarm::fetch_recipe(const Ticket& ticket, const PeerIdentity& identity,
                                        Duration limit) {
  WEFT_TRY(check_expiry(ticket, SystemClock().unix_time_s()));
  if (ticket.members.empty()) return invalid_argument("ticket: names no member");
  EventLoop loop;
  ListenOptions listen;
  listen.host = "127.0.0.1";
  WEFT_TRY_ASSIGN(const std::unique_ptr<Transport> transport,
                  make_tls_transport(loop, identity, listen));
  RecipeFetch fetch(ticket, *transport);
  transport->set_handler(fetch);
  fetch.begin();
  loop.run_until([&] { return fetch.done(); }, limit);
  return fetch.result();
}

}  // namespace weft
