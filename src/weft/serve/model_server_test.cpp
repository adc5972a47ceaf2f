// A server on a socket of this machine, and clients that behave and that do not.
#include "weft/serve/model_server.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/http/test_client.h"
#include "weft/serve/model/test_checkpoint.h"
#include "weft/serve/router.h"

namespace weft::model_server_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

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
 public:
  ~ServerTest() override { stop(); }

 protected:
  static ServeOptions quick() {
    ServeOptions options;
    options.http.port = 0;
    options.http.limits.body_bytes_max = 20000;
    options.http.linger_limit = std::chrono::milliseconds(300);
    return options;
  }
  void serve(const std::string& recipe, const ServeOptions& options = quick()) {
    std::signal(SIGPIPE, SIG_IGN);
    checkpoint_ = make_test_checkpoint(folder_, recipe);
    model_ = load_served(checkpoint_->path);
    auto made = ModelServer::listen(*model_, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    server_ = std::move(*made);
    thread_ = Thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  void serve_text() { serve(text_recipe(folder_.put("text.txt", test_text()))); }
  void stop() {
    stop_.store(true);
    thread_.join();
  }

  std::uint16_t port() const { return server_->port(); }
  std::string ask(const std::string& request) {
    TestClient client(port());
    client.send(request);
    return client.answer();
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_;
  std::unique_ptr<ServedModel> model_;
  std::unique_ptr<ModelServer> server_;
  Atomic<bool> stop_ = false;
  Thread thread_;
};

TEST_F(ServerTest, AnswersOneRequestBehindAnotherAndThoseThatComeTogether) {
  serve(kImageRecipe);
  TestClient client(port());
  client.send(get_request("/healthz"));
  EXPECT_EQ(body_of(client.answer()), "{\"status\":\"ok\"}\n");
  client.send(get_request("/v1/models") + post_request("/v1/predict", row_of_pixels(1)) +
              get_request("/nowhere") + post_request("/v1/predict", row_of_pixels(2)) +
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
  const json answer = json::parse(body_of(ask(post_request("/v1/predict", row_of_pixels(3)))));
  std::vector<float> pixels;
  pixels.reserve(784);
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
  refused(post_request("/v1/predict", "{"), 400, "expected JSON");
  refused(post_request("/v1/predict", R"({"inputs":[[1]]})"), 400, "expected 784 numbers");
  refused(post_request("/v1/predict", R"({"inputs":[[1]],"model":"other"})"), 400, "expected 784");
  refused(post_request("/v1/completions", "{}"), 404, "ask /v1/predict");
  refused(get_request("/nowhere"), 404, "/v1/models");
  refused(get_request("/v1/predict"), 405, "expected POST");
  refused(post_request("/healthz", ""), 405, "expected GET");
  refused("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n\r\n", 411, "Content-Length");
  refused(post_request("/v1/predict", std::string(20001, ' ')), 413, "at most 20000 bytes");
  refused("GET / HTTP/1.1\r\n\r\n", 400, "Host");
  refused("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", 414, "at most 8192");
  refused("GET / HTTP/1.1\r\nHost: " + std::string(40000, 'a'), 431, "at most 32768");
  refused("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: br\r\n\r\n", 501, "chunked");
  refused("GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "--allow-host");
  refused(post_request("/v1/predict", row_of_pixels(1), "Origin: http://evil.example\r\n"), 403,
          "origin");
  refused(
      "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
      "Content-Length: 2\r\n\r\n{}",
      415, "application/json");
  json named = json::parse(row_of_pixels(1));
  named["model"] = "other";
  refused(post_request("/v1/predict", named.dump()), 404, "expected \"images\"");
}

TEST_F(ServerTest, ASlowClientIsToldSo) {
  ServeOptions options = quick();
  options.http.head_limit = std::chrono::milliseconds(200);
  options.http.body_limit = std::chrono::milliseconds(200);
  serve(kImageRecipe, options);
  TestClient head(port());
  head.send("GET /healthz HTTP/1.1\r\nHo");
  EXPECT_THAT(head.rest(), StartsWith("HTTP/1.1 408"));
  TestClient body(port());
  body.send("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n123");
  EXPECT_THAT(body.rest(), StartsWith("HTTP/1.1 408"));
}

TEST_F(ServerTest, AClientThatSendsNoMoreOrWaitsIsAnswered) {
  serve(kImageRecipe);
  TestClient half(port());
  half.send(post_request("/v1/predict", row_of_pixels(1)));
  half.send_no_more();
  EXPECT_THAT(half.rest(), HasSubstr("\"classes\":["));
  TestClient several(port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += post_request("/v1/predict", row_of_pixels(i));
  several.send(all);
  several.send_no_more();
  const std::string answers = several.rest();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) {
    ++count;
  }
  EXPECT_EQ(count, 20U);
  TestClient waits(port());
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
  options.http.connections_max = 2;
  options.http.bodies_bytes_max = 10000;
  serve(kImageRecipe, options);
  TestClient first(port());
  TestClient second(port());
  first.send(get_request("/healthz"));
  second.send(get_request("/healthz"));
  EXPECT_EQ(status_of(first.answer()), 200);
  EXPECT_EQ(status_of(second.answer()), 200);
  TestClient third(port());
  EXPECT_THAT(third.rest(), testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After")));
  first.send("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n" +
             std::string(12000, ' '));
  EXPECT_EQ(status_of(first.answer()), 503);
  second.send(get_request("/healthz"));
  EXPECT_EQ(status_of(second.answer()), 200);
}

TEST_F(ServerTest, MetricsCountWhatWasAnswered) {
  serve(kImageRecipe);
  TestClient client(port());
  client.send(post_request("/v1/predict", row_of_pixels(1)) + post_request("/v1/predict", "{}") +
              get_request("/metrics"));
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
  const json whole = json::parse(body_of(ask(post_request("/v1/completions", wanted + "}"))));
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(whole["usage"],
            json({{"prompt_tokens", 6}, {"completion_tokens", 30}, {"total_tokens", 36}}));

  TestClient client(port());
  client.send(
      post_request("/v1/completions", wanted + ",\"stream\":true}", "Connection: close\r\n"));
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
  TestClient client(port());
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
  TestClient idle(port());
  idle.send(get_request("/healthz"));
  EXPECT_EQ(status_of(idle.answer()), 200);
  TestClient busy(port());
  busy.send(post_request("/v1/completions", R"({"prompt":"a","max_tokens":40,"stream":true})"));
  TestClient gone(port());
  gone.send(post_request("/v1/completions", R"({"prompt":"a","max_tokens":40,"stream":true})"));
  gone.close();
  std::string begun = busy.answer();  // its head
  EXPECT_EQ(status_of(begun), 200);
  stop();
  EXPECT_EQ(idle.rest(), "");
  EXPECT_THAT(busy.rest(), HasSubstr("[DONE]"));
  EXPECT_THROW(TestClient late(port()), std::exception);
}

TEST(ModelServerListen, SaysThatAnAddressIsTaken) {
  const TestFolder folder;
  const auto checkpoint = make_test_checkpoint(folder, kImageRecipe);
  const auto model = load_served(checkpoint->path);
  ServeOptions options;
  options.http.port = 0;
  const auto first = ModelServer::listen(*model, options);
  ASSERT_TRUE(first.ok());
  const auto other = load_served(checkpoint->path);
  options.http.port = (*first)->port();
  const auto second = ModelServer::listen(*other, options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("choose another --port"));
}

}  // namespace
}  // namespace weft::model_server_test
