// A server on a socket of this machine with a service that echoes, and clients that behave and that
// do not. tests/serve and serve/model_server_test.cpp have the same with a model behind it.
#include "weft/http/http_server.h"

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/base/time.h"
#include "weft/http/test_client.h"

namespace weft::http_server_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Answers /stream in two pieces, /later when asked to, and everything else with the request's body.
class Echo final : public HttpService {
 public:
  explicit Echo(HttpServer& server) : server_(server) {}

  void on_request(HttpClientId client, const HttpRequest& request) override {
    if (request.path == "/later") {
      waiting_ = client;
      return has_waiting_.store(true);
    }
    if (request.path != "/stream") return server_.respond(client, {.body = request.body});
    server_.begin_stream(client, "text/event-stream");
    server_.stream(client, "one ");
    server_.stream(client, "two");
    server_.end_stream(client);
  }
  void on_connection() override { connections.fetch_add(1); }
  void on_fault(int status) override { last_fault.store(status); }
  void on_end(HttpClientId client) override {
    if (waiting_ != client) return;
    waiting_.reset();
    has_waiting_.store(false);
  }

  bool has_waiting() const { return has_waiting_.load(); }
  void answer_waiting() {
    if (waiting_.has_value()) server_.respond(*std::exchange(waiting_, {}), {.body = "at last"});
  }

  Atomic<int> connections = 0;
  Atomic<int> last_fault = 0;

 private:
  HttpServer& server_;
  std::optional<HttpClientId> waiting_;
  Atomic<bool> has_waiting_ = false;
};

class HttpServerTest : public testing::Test {
 public:
  ~HttpServerTest() override { stop(); }

 protected:
  static HttpServerOptions quick() {
    HttpServerOptions options;
    options.port = 0;
    options.limits.body_bytes_max = 20000;
    options.linger_limit = std::chrono::milliseconds(300);
    return options;
  }
  void serve(const HttpServerOptions& options = quick()) {
    std::signal(SIGPIPE, SIG_IGN);
    auto made = HttpServer::listen(options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    server_ = std::move(*made);
    echo_.emplace(*server_);
    thread_ = Thread([this] { server_->run(*echo_, [this] { return stop_.load(); }); });
  }
  void stop() {
    stop_.store(true);
    thread_.join();
  }
  std::uint16_t port() const { return server_->port(); }
  // Another client's requests pass the time until it is so. It asks at least once: a client that
  // leaves unanswered may never have been accepted.
  void ask_until(const std::function<bool()>& is_so) {
    const SystemClock clock;
    const TimePoint deadline = clock.now() + std::chrono::seconds(20);
    TestClient other(port());
    do {
      other.send(post_request("/", "meanwhile"));
      ASSERT_EQ(body_of(other.answer()), "meanwhile");
    } while (!is_so() && clock.now() < deadline);
    ASSERT_TRUE(is_so());
  }

  std::unique_ptr<HttpServer> server_;
  std::optional<Echo> echo_;
  Atomic<bool> stop_ = false;
  Thread thread_;
};

TEST_F(HttpServerTest, AnswersInOrderAndInPieces) {
  serve();
  TestClient client(port());
  client.send(post_request("/", "first") + post_request("/", "second"));
  EXPECT_EQ(body_of(client.answer()), "first");
  EXPECT_EQ(body_of(client.answer()), "second");
  client.send("GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.rest(),
              AllOf(HasSubstr("chunked"), HasSubstr("4\r\none \r\n3\r\ntwo\r\n0\r\n")));
}

TEST_F(HttpServerTest, AnAnswerMayComeLaterFromTheServersThread) {
  serve();
  TestClient client(port());
  client.send(get_request("/later"));
  ask_until([this] { return echo_->has_waiting(); });
  server_->post([this] { echo_->answer_waiting(); });
  EXPECT_EQ(body_of(client.answer()), "at last");
}

TEST_F(HttpServerTest, TheServiceLearnsOfClientsThatAreGone) {
  serve();
  TestClient gone(port());
  gone.send(get_request("/later"));
  ask_until([this] { return echo_->has_waiting(); });
  // A client that only sends no more still reads, so this one breaks its connection.
  gone.reset();
  ask_until([this] { return !echo_->has_waiting(); });
  EXPECT_EQ(echo_->connections.load(), 3);
}

TEST_F(HttpServerTest, WhatIsNoRequestIsRefused) {
  serve();
  const auto refused = [&](const std::string& request, int status, const std::string& why) {
    TestClient client(port());
    client.send(request);
    const std::string answer = client.answer();
    EXPECT_EQ(status_of(answer), status) << answer;
    EXPECT_THAT(body_of(answer), HasSubstr(why));
    EXPECT_EQ(echo_->last_fault.load(), status);
  };
  refused(post_request("/", std::string(20001, ' ')), 413, "at most 20000 bytes");
  refused("GET / HTTP/1.1\r\n\r\n", 400, "Host");
  refused("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", 414, "at most 8192");
  refused("GET / HTTP/1.1\r\nHost: " + std::string(40000, 'a'), 431, "at most 32768");
}

TEST_F(HttpServerTest, ASlowClientAndOneTooManyAreTold) {
  HttpServerOptions options = quick();
  options.head_limit = std::chrono::milliseconds(200);
  options.connections_max = 1;
  serve(options);
  TestClient slow(port());
  slow.send(post_request("/", "in") + "GET / HTTP/1.1\r\nHo");
  EXPECT_EQ(body_of(slow.answer()), "in");
  TestClient many(port());
  EXPECT_THAT(many.rest(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After")));
  EXPECT_THAT(slow.rest(), StartsWith("HTTP/1.1 408"));
}

TEST(HttpServerListen, SaysThatAnAddressIsTaken) {
  HttpServerOptions options;
  options.port = 0;
  const auto first = HttpServer::listen(options);
  ASSERT_TRUE(first.ok());
  options.port = (*first)->port();
  const auto second = HttpServer::listen(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("choose another --port"));
}

}  // namespace
}  // namespace weft::http_server_test
