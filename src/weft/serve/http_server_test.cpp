// A server on a socket of this machine, and clients that behave and that do not.
#include "weft/serve/http_server.h"

#include <array>
#include <csignal>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "weft/serve/router.h"
#include "weft/serve/test_checkpoint.h"

namespace weft::http_server_test {
namespace {

using asio::ip::tcp;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// A connection whose every wait ends after some seconds.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(context_) {
    socket_.connect(tcp::endpoint(asio::ip::make_address("127.0.0.1"), port));
    const ::timeval limit = {20, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  void send(const std::string& bytes) {
    asio::error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  void send_no_more() { socket_.shutdown(tcp::socket::shutdown_send); }
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
    const std::string whole = buffer_.substr(0, end + 4 + length);
    buffer_.erase(0, whole.size());
    return whole;
  }
  void close() { socket_.close(); }

 private:
  bool receive() {
    std::array<char, 4096> piece{};
    const ssize_t count = ::recv(socket_.native_handle(), piece.data(), piece.size(), 0);
    if (count <= 0) return false;
    buffer_.append(piece.data(), static_cast<std::size_t>(count));
    return true;
  }

  asio::io_context context_;
  tcp::socket socket_;
  std::string buffer_;
};

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string post(const std::string& path, const std::string& body, const std::string& more = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         more + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

std::string row_of_pixels(int first) {
  json row = json::array();
  for (int i = 0; i < 784; ++i) row.push_back((first + i * 7) % 256);
  return json{{"inputs", {row}}}.dump();
}

// A chunked body's data.
std::string unchunked(std::string body) {
  std::string data;
  for (;;) {
    const std::size_t end = body.find("\r\n");
    if (end == std::string::npos) return data + " (cut)";
    const std::size_t size = std::stoul(body.substr(0, end), nullptr, 16);
    if (size == 0) return data;
    data += body.substr(end + 2, size);
    body.erase(0, end + 4 + size);
  }
}

class ServerTest : public testing::Test {
 protected:
  static ServeOptions quick() {
    ServeOptions options;
    options.port = 0;
    options.limits.body_bytes_max = 20000;
    options.linger_limit = std::chrono::milliseconds(300);
    return options;
  }
  void serve(const std::string& recipe, const ServeOptions& options = quick()) {
    std::signal(SIGPIPE, SIG_IGN);
    checkpoint_ = make_test_checkpoint(folder_, recipe);
    model_ = load_served(checkpoint_->path);
    auto made = HttpServer::listen(*model_, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    server_ = std::move(*made);
    thread_ = Thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  void serve_text() { serve(text_recipe(folder_.write("text.txt", test_text()))); }
  void stop() {
    stop_.store(true);
    thread_.join();
  }
  ~ServerTest() override { stop(); }

  std::uint16_t port() const { return server_->port(); }
  std::string ask(const std::string& request) {
    Client client(port());
    client.send(request);
    return client.answer();
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_;
  std::unique_ptr<ServedModel> model_;
  std::unique_ptr<HttpServer> server_;
  Atomic<bool> stop_ = false;
  Thread thread_;
};

TEST_F(ServerTest, AnswersOneRequestBehindAnotherAndThoseThatComeTogether) {
  serve(kImageRecipe);
  Client client(port());
  client.send(get("/healthz"));
  EXPECT_EQ(body_of(client.answer()), "{\"status\":\"ok\"}\n");
  client.send(get("/v1/models") + post("/v1/predict", row_of_pixels(1)) + get("/nowhere") +
              post("/v1/predict", row_of_pixels(2)) +
              "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const json models = json::parse(body_of(client.answer()));
  EXPECT_EQ(models["data"][0]["id"], "images");
  EXPECT_EQ(models["data"][0]["input"], json({1, 28, 28}));
  const json first = json::parse(body_of(client.answer()));
  EXPECT_EQ(first["outputs"][0].size(), 10U);
  EXPECT_EQ(status_of(client.answer()), 404);
  const json second = json::parse(body_of(client.answer()));
  EXPECT_NE(first["outputs"], second["outputs"]);
  EXPECT_THAT(client.rest(), HasSubstr("Content-Length: 16\r\n\r\n"));
}

TEST_F(ServerTest, TheAnswerIsWhatTheModelGives) {
  serve(kImageRecipe);
  const json answer = json::parse(body_of(ask(post("/v1/predict", row_of_pixels(3)))));
  std::vector<float> pixels;
  for (int i = 0; i < 784; ++i) pixels.push_back(static_cast<float>((3 + i * 7) % 256));
  const auto model = load_served(checkpoint_->path);
  const auto wanted = model->predict(*model->prepare({1, pixels, ""}));
  EXPECT_EQ(answer["outputs"][0].get<std::vector<float>>(), wanted->values);
  const auto best = std::max_element(wanted->values.begin(), wanted->values.end());
  EXPECT_EQ(answer["classes"][0], best - wanted->values.begin());
}

TEST_F(ServerTest, NonsenseIsToldWhy) {
  serve(kImageRecipe);
  const auto refused = [&](const std::string& request, int status, const std::string& why) {
    const std::string answer = ask(request);
    EXPECT_EQ(status_of(answer), status) << request.substr(0, 80) << answer;
    const json error = json::parse(body_of(answer), nullptr, false);
    ASSERT_TRUE(error.is_object()) << answer;
    EXPECT_THAT(error["error"]["message"].get<std::string>(), HasSubstr(why));
    EXPECT_EQ(error["error"]["type"], status < 500 ? "invalid_request_error" : "server_error");
  };
  refused(post("/v1/predict", "{"), 400, "expected JSON");
  refused(post("/v1/predict", R"({"inputs":[[1]]})"), 400, "expected 784 numbers");
  refused(post("/v1/predict", R"({"inputs":[[1]],"model":"other"})"), 400, "expected 784");
  refused(post("/v1/completions", "{}"), 404, "ask /v1/predict");
  refused(get("/nowhere"), 404, "/v1/models");
  refused(get("/v1/predict"), 405, "expected POST");
  refused(post("/healthz", ""), 405, "expected GET");
  refused("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n\r\n", 411, "Content-Length");
  refused(post("/v1/predict", std::string(20001, ' ')), 413, "at most 20000 bytes");
  refused("GET / HTTP/1.1\r\n\r\n", 400, "Host");
  refused("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", 414, "at most 8192");
  refused("GET / HTTP/1.1\r\nHost: " + std::string(40000, 'a'), 431, "at most 32768");
  refused("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: br\r\n\r\n", 501, "chunked");
  refused("GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "--allow-host");
  refused(post("/v1/predict", row_of_pixels(1), "Origin: http://evil.example\r\n"), 403, "origin");
  refused(
      "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
      "Content-Length: 2\r\n\r\n{}",
      415, "application/json");
  json named = json::parse(row_of_pixels(1));
  named["model"] = "other";
  refused(post("/v1/predict", named.dump()), 404, "expected \"images\"");
}

TEST_F(ServerTest, ASlowClientIsToldSo) {
  ServeOptions options = quick();
  options.head_limit = std::chrono::milliseconds(200);
  options.body_limit = std::chrono::milliseconds(200);
  serve(kImageRecipe, options);
  Client head(port());
  head.send("GET /healthz HTTP/1.1\r\nHo");
  EXPECT_THAT(head.rest(), StartsWith("HTTP/1.1 408"));
  Client body(port());
  body.send("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n123");
  EXPECT_THAT(body.rest(), StartsWith("HTTP/1.1 408"));
}

TEST_F(ServerTest, AClientThatSendsNoMoreOrWaitsIsAnswered) {
  serve(kImageRecipe);
  Client half(port());
  half.send(post("/v1/predict", row_of_pixels(1)));
  half.send_no_more();
  EXPECT_THAT(half.rest(), HasSubstr("\"classes\":["));
  Client several(port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += post("/v1/predict", row_of_pixels(i));
  several.send(all);
  several.send_no_more();
  const std::string answers = several.rest();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) {
    ++count;
  }
  EXPECT_EQ(count, 20U);
  Client waits(port());
  waits.send(
      "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Type: application/json\r\n"
      "Content-Length: 2\r\n\r\n");
  EXPECT_EQ(waits.answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  waits.send("{}");
  EXPECT_EQ(status_of(waits.answer()), 400);
}

TEST_F(ServerTest, TooManyConnectionsAndBodiesAreRefusedWithAnAnswer) {
  ServeOptions options = quick();
  options.connections_max = 2;
  options.bodies_bytes_max = 10000;
  serve(kImageRecipe, options);
  Client first(port());
  Client second(port());
  first.send(get("/healthz"));
  second.send(get("/healthz"));
  EXPECT_EQ(status_of(first.answer()), 200);
  EXPECT_EQ(status_of(second.answer()), 200);
  Client third(port());
  EXPECT_THAT(third.rest(), testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After")));
  first.send("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n" +
             std::string(12000, ' '));
  EXPECT_EQ(status_of(first.answer()), 503);
  second.send(get("/healthz"));
  EXPECT_EQ(status_of(second.answer()), 200);
}

TEST_F(ServerTest, MetricsCountWhatWasAnswered) {
  serve(kImageRecipe);
  Client client(port());
  client.send(post("/v1/predict", row_of_pixels(1)) + post("/v1/predict", "{}") + get("/metrics"));
  EXPECT_EQ(status_of(client.answer()), 200);
  EXPECT_EQ(status_of(client.answer()), 400);
  const std::string text = body_of(client.answer());
  EXPECT_THAT(text,
              HasSubstr("weft_serve_requests_total{route=\"/v1/predict\",status=\"200\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("weft_serve_requests_total{route=\"/v1/predict\",status=\"400\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weft_serve_batch_rows_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weft_serve_request_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("weft_serve_connections 1\n"));
}

TEST_F(ServerTest, AStreamIsTheTextThatComesWhole) {
  serve_text();
  const std::string wanted = R"({"prompt":"the qu","max_tokens":30,"seed":7)";
  const json whole = json::parse(body_of(ask(post("/v1/completions", wanted + "}"))));
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(whole["usage"],
            json({{"prompt_tokens", 6}, {"completion_tokens", 30}, {"total_tokens", 36}}));

  Client client(port());
  client.send(post("/v1/completions", wanted + ",\"stream\":true}", "Connection: close\r\n"));
  const std::string answer = client.rest();
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream"));
  std::string events = unchunked(body_of(answer));
  EXPECT_TRUE(events.ends_with("data: [DONE]\n\n")) << events;
  std::string text;
  std::vector<int> tokens;
  for (std::size_t end = 0; (end = events.find("\n\n")) != std::string::npos;) {
    const std::string data = events.substr(6, end - 6);
    events.erase(0, end + 2);
    if (data == "[DONE]") break;
    const json piece = json::parse(data);
    EXPECT_FALSE(piece.contains("usage"));
    text += piece["choices"][0]["text"].get<std::string>();
    for (const int token : piece["choices"][0]["tokens"]) tokens.push_back(token);
  }
  EXPECT_EQ(text, whole["choices"][0]["text"].get<std::string>());
  EXPECT_EQ(tokens, whole["choices"][0]["tokens"].get<std::vector<int>>());
}

TEST_F(ServerTest, AnOldClientGetsItsStreamToTheConnectionsEnd) {
  serve_text();
  const std::string body = R"({"prompt":"a","max_tokens":3,"stream":true})";
  Client client(port());
  client.send(
      "POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string answer = client.rest();
  EXPECT_THAT(answer, testing::Not(HasSubstr("chunked")));
  EXPECT_TRUE(answer.ends_with("data: [DONE]\n\n")) << answer;
}

TEST_F(ServerTest, StoppingFinishesWhatHasBegun) {
  serve_text();
  Client idle(port());
  idle.send(get("/healthz"));
  EXPECT_EQ(status_of(idle.answer()), 200);
  Client busy(port());
  busy.send(post("/v1/completions", R"({"prompt":"a","max_tokens":40,"stream":true})"));
  Client gone(port());
  gone.send(post("/v1/completions", R"({"prompt":"a","max_tokens":40,"stream":true})"));
  gone.close();
  std::string begun = busy.answer();  // its head
  EXPECT_EQ(status_of(begun), 200);
  stop();
  EXPECT_EQ(idle.rest(), "");
  EXPECT_THAT(busy.rest(), HasSubstr("[DONE]"));
  EXPECT_THROW(Client late(port()), std::exception);
}

TEST(HttpServerListen, SaysThatAnAddressIsTaken) {
  const TestFolder folder;
  const auto checkpoint = make_test_checkpoint(folder, kImageRecipe);
  const auto model = load_served(checkpoint->path);
  ServeOptions options;
  options.port = 0;
  const auto first = HttpServer::listen(*model, options);
  ASSERT_TRUE(first.ok());
  const auto other = load_served(checkpoint->path);
  options.port = (*first)->port();
  const auto second = HttpServer::listen(*other, options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("choose another --port"));
}

}  // namespace
}  // namespace weft::http_server_test
