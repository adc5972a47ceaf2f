// Reach: connects two peers that cannot dial each other.
//
// A Dial that gets no answer in a moment is helped: a peer that is linked to both tells each the
// addresses from which the other's connections come, and both knock there at once (hole punching);
// if that fails, it offers itself as a relay. Any peer introduces and relays, none is special, and
// a false introduction costs a few packets: the link's handshake proves both keys as always. All of
// it happens among peers that are LinkTrust::kProved to each other; messages of other peers are
// ignored.
//
//   asker                    third peer                  other
//     | introduce{other}         |                         |
//     |------------------------->|                         |
//     |      introduction{where the other is seen}         |
//     |<-------------------------|------------------------>|
//     |  knock, knock ...  ======================  knock   |   both from their lanes' own ports
//     |  preface{attempt, asker} |    preface{attempt}     |   then TLS, hello as on every dial
//
// Threads: the loop thread. Fails: never; help that leads nowhere is a Dial that fails.
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

// The part of the transport's links that Reach uses.
class ReachLinks {
 public:
  virtual ~ReachLinks() = default;
  // Null without a link.
  virtual Link* link_to(const PeerId& peer) = 0;
  // The peers whose links are proved.
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

  // Searches for further ways once `dial` has had a moment, or has none left.
  void help(const std::shared_ptr<Dial>& dial);
  // Handles a frame of this family. kCorrupt: the caller must end the link.
  Status on_frame(const Link& from, const FrameView& frame);
  void on_link_up(const PeerId& peer);
  void on_link_down(const PeerId& peer);
  void on_trust(const PeerId& peer, LinkTrust trust);
  // Takes a connection to the listening socket that began with a punch's preface.
  Status on_punched(Socket socket, const PrefaceMessage& preface);

 private:
  enum class Stage : std::uint8_t {
    kWaiting,      // the dial is tried alone at first
    kIntroducing,  // a third peer was asked for an introduction
    kPunching,     // both sides knock
    kAskingRelay,  // a third peer was asked to relay
    kRelaying,     // the relay is being dialled
    kOver,
  };
  // The state of one dial of this peer.
  struct Help {
    PeerId peer;
    std::weak_ptr<Dial> dial;
    ReachAttempt attempt{};
    Stage stage = Stage::kWaiting;
    // The peers still to be asked, from the back.
    std::vector<PeerId> left;
    std::optional<PeerId> asked;
    // Peers that are linked to both.
    std::vector<PeerId> helpers;
    // The reasons why nobody helped.
    std::string failures;
    TimerId timer;
  };
  using HelpPtr = std::shared_ptr<Help>;
  // The other side of another peer's dial: it knocks, and the greeter takes the connections that
  // open.
  struct Answer {
    ReachAttempt attempt{};
    PeerId peer;
    // The peer that introduced it.
    PeerId by;
    LinkRoute route;
    std::array<std::shared_ptr<Knock>, 2> knocks;
    TimePoint ends;
  };
  // A punched connection that arrived before this side received the introduction.
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
  // Finds the answer with a preface's mark.
  std::list<Answer>::iterator find_answer(const ReachAttempt& mark);
  bool is_proved(const PeerId& peer) const;
  void forget_introductions(const PeerId& peer, const std::string& why);
  void drop_answers(const std::function<bool(const Answer&)>& which);
  void refuse(const PeerId& to, const ReachAttempt& attempt, const std::string& text);
  void send(const PeerId& to, std::uint8_t type, Bytes head);
  // Returns the address, unless it belongs to a machine or network that the introducer is not on
  // itself.
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
