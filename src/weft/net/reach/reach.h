// Reach: brings two peers together that cannot dial each other.
//
// A Dial that gets no answer in a moment is helped: a peer that is linked to both tells each where
// it sees the other's connections come from, and both knock there at once (hole punching); if that
// does not do, it offers itself as a relay. Any peer introduces and relays, none is special, and a
// lie of theirs costs a few packets: the link's handshake proves both keys as always. All of it is
// among peers that are LinkTrust::kProved to each other; what others say of it is not heard.
//
//   asker                    third peer                  other
//     | introduce{other}         |                         |
//     |------------------------->|                         |
//     |      introduction{where the other is seen}         |
//     |<-------------------------|------------------------>|
//     |  knock, knock ...  ======================  knock   |   both from their lanes' own ports
//     |  preface{attempt, asker} |    preface{attempt}     |   then TLS, hello as on every dial
//
// Threads: the loop thread. Fails: never; a help that comes to nothing is a Dial that fails.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/link/dial.h"
#include "weft/net/link/greeter.h"
#include "weft/net/link/link.h"
#include "weft/net/reach/relay.h"
#include "weft/wire/reach_message.h"

namespace weft {

// What Reach sees of the transport's links.
class ReachLinks {
 public:
  virtual ~ReachLinks() = default;
  // Null without a link.
  virtual Link* link_to(const PeerId& peer) = 0;
  // Those that are proved.
  virtual std::vector<PeerId> proved_peers() const = 0;
  virtual std::vector<std::string> own_endpoints() const = 0;
};

class Reach {
 public:
  // Borrows everything; all of it outlives this.
  Reach(const LinkContext& context, Greeter& greeter, Relay& relay, ReachLinks& links);
  ~Reach();
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  // Looks for further ways once `dial` has had a moment, or has none left.
  void help(const std::shared_ptr<Dial>& dial);
  // A frame of this family. kCorrupt: the link is to be ended.
  Status on_frame(const Link& from, const FrameView& frame);
  void on_link_up(const PeerId& peer);
  void on_link_down(const PeerId& peer);
  void on_trust(const PeerId& peer, LinkTrust trust);
  // A connection to the listening socket that began with a punch's preface.
  Status on_punched(Socket socket, const PrefaceMessage& preface);

 private:
  enum class Stage : std::uint8_t {
    kWaiting,      // the dial has its moment
    kIntroducing,  // somebody was asked for an introduction
    kPunching,     // both sides knock
    kAskingRelay,  // somebody was asked to relay
    kRelaying,     // the relay is being dialled
    kOver,
  };
  // Of one dial of this peer.
  struct Help {
    PeerId peer;
    std::weak_ptr<Dial> dial;
    ReachAttempt attempt{};
    Stage stage = Stage::kWaiting;
    // Whom to ask next, from the back.
    std::vector<PeerId> left;
    std::optional<PeerId> asked;
    // Linked to both.
    std::vector<PeerId> helpers;
    // Why nobody helped.
    std::string failures;
    TimerId timer;
  };
  using HelpPtr = std::shared_ptr<Help>;
  // The other side of somebody's dial: knocks, and the greeter takes what opens.
  struct Answer {
    ReachAttempt attempt{};
    PeerId peer;
    // Who introduced it.
    PeerId by;
    LinkRoute route;
    std::array<std::shared_ptr<Knock>, 2> knocks;
    TimePoint ends;
  };
  // A punched connection that came before this side was told of the other.
  struct Early {
    Socket socket;
    PrefaceMessage preface;
    TimePoint at;
  };
  struct Introduced {
    ReachAttempt attempt{};
    PeerId asker;
    PeerId other;
    TimePoint at;
  };

  // --- Asking (reach.cpp).
  void begin(const HelpPtr& help);
  bool on_exhausted(const HelpPtr& help);
  void ask_next(const HelpPtr& help);
  void ask_relays(const HelpPtr& help);
  void end(const HelpPtr& help);
  void set_timer(const HelpPtr& help, Duration wait, void (Reach::*then)(const HelpPtr&));
  HelpPtr helped(const ReachAttempt& attempt, const PeerId& by) const;
  void on_introduced(const Link& from, const IntroductionMessage& message);
  void on_relay_offered(const Link& from, const RelayOfferMessage& message);
  void on_refusal(const Link& from, const ReachRefusedMessage& message);

  // --- Answering and introducing (reach_answer.cpp).
  void introduce(const Link& from, const IntroduceMessage& message);
  Status may_introduce(const Link& from, const IntroduceMessage& message);
  void answer_punch(const Link& from, const IntroductionMessage& message);
  void answer_relay(const Link& from, const RelayOfferMessage& message);
  // Dials the relay's addresses in turn, from the back, until one answers.
  void visit_relay(std::vector<SocketAddress> addresses, const RelayToken& token,
                   const LinkRoute& route);
  Status keep_early(Socket socket, const PrefaceMessage& preface);
  std::vector<Early> take_early(const ReachAttempt& mark);
  void greet_punched(Socket socket, const Answer& answer, std::uint8_t lane, bool heard);
  // By a preface's mark.
  std::list<Answer>::iterator find_answer(const ReachAttempt& mark);
  bool is_proved(const PeerId& peer) const;
  void forget_introductions(const PeerId& peer, const std::string& why);
  void drop_answers(const std::function<bool(const Answer&)>& which);
  void refuse(const PeerId& to, const ReachAttempt& attempt, const std::string& text);
  void send(const PeerId& to, std::uint8_t type, Bytes head);
  // The address, unless it is of a machine, wire or network that the introducer is not on itself.
  static Result<SocketAddress> credible(const std::string& endpoint, const Link& from);

  const LinkContext& context_;
  Greeter& greeter_;
  Relay& relay_;
  ReachLinks& links_;
  std::map<PeerId, HelpPtr> helps_;
  std::list<Answer> answers_;
  std::list<Early> early_;
  std::size_t visits_ = 0;
  std::list<Introduced> introduced_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft
