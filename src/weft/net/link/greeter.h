// Greeter: takes inbound connections up to their hello, and bounds what strangers can hold.
//
// Each connection has until the handshake timeout; when there are too many, the oldest one of the
// address with the most is closed (crowd.h), since a peer in good faith needs milliseconds.
// Connections that this side made for others (punched, or by a relay) are counted with them.
// Threads: the loop thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include <asio/posix/stream_descriptor.hpp>

#include "weft/base/status.h"
#include "weft/net/handshake_gate.h"
#include "weft/net/stream/connection.h"
#include "weft/net/stream/medium.h"
#include "weft/net/stream/socket.h"
#include "weft/wire/link_message.h"
#include "weft/wire/reach_message.h"

namespace weft {

class Greeter final : public ConnectionOwner {
 public:
  // `on_hello` takes a connection whose hello is valid and proved, from inside its frame call: it
  // must set another owner or refuse. `on_refused` gets the reason why any other connection ended.
  // `on_preface` takes a socket that began with a preface (a relay's customer, or a punched
  // connection).
  struct Callbacks {
    std::function<void(const std::shared_ptr<Connection>&, const HelloMessage&)> on_hello;
    std::function<void(const std::string& remote, const Status& why)> on_refused;
    std::function<void(Socket, const PrefaceMessage&, const std::string& remote)> on_preface;
  };

  Greeter(const LinkContext& context, Callbacks callbacks);
  ~Greeter() override;
  // Takes a listening socket.
  void listen(Socket socket);
  // Takes a connection that this side made, but on which the other side sends the hello.
  void receive(Socket socket, std::unique_ptr<ByteStream> stream, const LinkRoute& route);
  // Called when the peer of a link from there has proved its key: further connections from there
  // are let in.
  void prove(const std::string& origin) { gate_.prove(origin, context_.loop.now()); }
  std::size_t guests() const { return guests_.size(); }
  // Sends `verdict` as the answer and ends the connection.
  void refuse(const std::shared_ptr<Connection>& connection, HelloVerdict verdict,
              const std::string& text);

 private:
  struct Guest {
    std::shared_ptr<Connection> connection;
    TimerId timer;
    std::string origin;
  };
  using Guests = std::list<Guest>;

  void on_ready(Connection& connection) override;
  void on_frame(Connection& connection, const FrameView& frame) override;
  void on_ended(Connection& connection, const Status& why) override;

  void wait(std::size_t listener);
  void accept_waiting(std::size_t listener);
  void receive(Socket socket);
  // Removes the guest and returns its connection; null if it is none.
  std::shared_ptr<Connection> take(const Connection& connection);
  void turn_away(Connection& connection, const Status& why);

  const LinkContext& context_;
  Callbacks callbacks_;
  HandshakeGate gate_;
  std::vector<std::unique_ptr<asio::posix::stream_descriptor>> listeners_;
  Guests guests_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft
