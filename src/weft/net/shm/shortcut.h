// Shortcuts: bulk frames between two peers of one machine go through memory instead of a socket.
//
// The link is set up as between distant peers: two TLS connections, both keys proved. If both ends
// of its control connection have one address, the dialler offers over that connection the name of a
// socket at which it listens, and a token; both are random, and only the two ends have them. The
// other side connects there (shm_stream.h), and sends the token. Then each direction of the bulk
// lane moves once its sender has announced over the old connection that what follows comes by the
// new one: the dialler first, the other side after it. The old connection stays: it carries no more
// frames, and ends the link when it ends.
//
// The memory is open to processes of the same user, as those processes are to each other anyway; a
// connection of another user is refused. Peers in other network namespaces do not find the socket,
// and keep their TLS connections.
//
// Where it stands: LinkTransport owns one. Threads: the loop thread. Fails: a link without shortcut
// continues as it is; a frame that no correct peer sends is kCorrupt.
#pragma once

#include <array>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include <asio/posix/stream_descriptor.hpp>

#include "weft/base/status.h"
#include "weft/net/link/link.h"
#include "weft/net/stream/connection.h"
#include "weft/wire/link_message.h"

namespace weft {

class Shortcuts final : public ConnectionOwner {
 public:
  // Finds the link to a peer: null if there is none any more.
  using FindLink = std::function<Link*(const PeerId&)>;
  Shortcuts(const LinkContext& context, FindLink find_link)
      : context_(context), find_link_(std::move(find_link)) {}
  ~Shortcuts() override;

  // A link came up: offers a shortcut where one is possible.
  void on_link_up(Link& link);
  void on_link_down(const PeerId& peer);
  // Handles kShortcut from the link's control lane.
  Status on_offer(Link& link, ByteSpan head);

 private:
  using Token = std::array<std::uint8_t, 32>;
  // A connection that is being made. `peer` is set if this side connected: the peer whose link it
  // is for.
  struct Guest {
    std::shared_ptr<Connection> connection;
    TimerId timer;
    std::optional<PeerId> peer;
    Token token{};
  };

  void on_ready(Connection& connection) override;
  void on_frame(Connection& connection, const FrameView& frame) override;
  void on_ended(Connection& connection, const Status& why) override;

  Status listen();
  void wait();
  void accept_waiting();
  void receive(Socket socket, std::unique_ptr<ByteStream> stream, std::optional<PeerId> peer,
               const Token& token);
  // Removes the guest and returns it; nothing if it is none.
  std::optional<Guest> take(const Connection& connection);

  const LinkContext& context_;
  FindLink find_link_;
  std::array<std::uint8_t, 16> name_{};
  std::unique_ptr<asio::posix::stream_descriptor> listener_;
  // Tokens that were offered and not yet used.
  std::map<PeerId, Token> offered_;
  std::list<Guest> guests_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft
