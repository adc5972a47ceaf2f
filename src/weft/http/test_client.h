// TestClient: a client's connection to a server on this machine, whose every wait ends after some
// seconds; and requests and answers as texts. For tests.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace weft {

class TestClient {
 public:
  // Throws std::runtime_error if nobody listens.
  explicit TestClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    ::sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<::sockaddr*>(&address), sizeof(address)) != 0) {
      close();
      throw std::runtime_error("nobody listens on port " + std::to_string(port));
    }
    const ::timeval limit = {20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // As much as the server takes.
  void send(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }
  void send_no_more() { ::shutdown(socket_, SHUT_WR); }
  // Everything until the server ends the connection.
  std::string rest() {
    while (receive()) {
    }
    return std::exchange(buffer_, {});
  }
  // One answer with a Content-Length: head and body.
  std::string answer() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return std::exchange(buffer_, {});
    }
    const std::size_t at = buffer_.find("Content-Length: ");
    const std::size_t length =
        at < end ? std::stoul(buffer_.substr(at + 16, buffer_.find('\r', at) - at - 16)) : 0;
    while (buffer_.size() < end + 4 + length) {
      if (!receive()) return std::exchange(buffer_, {});
    }
    std::string whole = buffer_.substr(0, end + 4 + length);
    buffer_.erase(0, whole.size());
    return whole;
  }
  // Ends the connection with a reset, so that the server need not read what came to learn of it.
  void reset() {
    const ::linger now = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  bool receive() {
    std::array<char, 4096> piece{};
    const ssize_t count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) return false;
    buffer_.append(piece.data(), static_cast<std::size_t>(count));
    return true;
  }

  int socket_;
  std::string buffer_;
};

inline std::string get_request(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

inline std::string post_request(const std::string& path, const std::string& body,
                                const std::string& more = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

inline std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace weft
