#include "weft/http/http_parser.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::http_parser_test {
namespace {

// What a parser made of some bytes: a line a request, and the fault.
std::string outcome(std::string_view bytes, const std::vector<std::size_t>& cuts,
                    const HttpLimits& limits = {}) {
  HttpParser parser(limits);
  std::string all;
  std::size_t begin = 0;
  const auto feed = [&](std::string_view piece) {
    while (!piece.empty() && !parser.failed()) {
      piece.remove_prefix(parser.feed(piece));
      if (!parser.done()) continue;
      const HttpRequest request = parser.take();
      all += fmt::format("{} {}?{} ", request.method, request.path, request.query);
      for (const auto& [name, value] : request.headers) all += fmt::format("{}={};", name, value);
      all += fmt::format(" {} [{}]\n", request.keep_alive ? "keep" : "close", request.body);
    }
  };
  for (const std::size_t cut : cuts) {
    feed(bytes.substr(begin, cut - begin));
    begin = cut;
  }
  feed(bytes.substr(begin));
  if (parser.failed()) all += std::to_string(parser.fault().status) + " " + parser.fault().reason;
  return all;
}

std::string outcome_by_bytes(std::string_view bytes, const HttpLimits& limits = {}) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < bytes.size(); ++i) cuts.push_back(i);
  return outcome(bytes, cuts, limits);
}

int status_of(std::string_view bytes, const HttpLimits& limits = {}) {
  HttpParser parser(limits);
  parser.feed(bytes);
  EXPECT_TRUE(parser.failed()) << bytes;
  return parser.failed() ? parser.fault().status : 0;
}

constexpr std::string_view kGet = "GET /healthz?a=b HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kPost =
    "POST /v1/predict HTTP/1.1\r\nhost:x\r\nContent-Length:  5 \r\n\r\nhello";
constexpr std::string_view kChunked =
    "POST /v1/predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: a, Close"
    "\r\n\r\n3;name=value\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n";

TEST(HttpParser, ReadsRequestsOneAfterAnother) {
  const std::string all = std::string(kGet) + std::string(kPost) + "\r\n" + std::string(kChunked);
  EXPECT_EQ(outcome(all, {}),
            "GET /healthz?a=b host=x; keep []\n"
            "POST /v1/predict? host=x;content-length=5; keep [hello]\n"
            "POST /v1/predict? host=x;transfer-encoding=chunked;connection=a, Close; close "
            "[hello]\n");
  EXPECT_EQ(outcome_by_bytes(all), outcome(all, {}));
}

TEST(HttpParser, OldClientsCloseUnlessTheySayOtherwise) {
  EXPECT_EQ(outcome("GET / HTTP/1.0\r\n\r\n", {}), "GET /?  close []\n");
  EXPECT_EQ(outcome("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", {}),
            "GET /? connection=Keep-Alive; keep []\n");
}

TEST(HttpParser, TakesTheWholeAddressAsTarget) {
  EXPECT_EQ(outcome("GET http://a.b:80/c?d HTTP/1.1\r\nHost: x\r\n\r\n", {}),
            "GET /c?d host=x; keep []\n");
  EXPECT_EQ(outcome("GET http://a.b HTTP/1.1\r\nHost: x\r\n\r\n", {}), "GET /? host=x; keep []\n");
}

TEST(HttpParser, RefusesWhatIsNoRequest) {
  for (const char* text :
       {"\r\n\r\n\r\n", "GET\r\n", "GET /\r\n", "GET / HTTQ/1.1\r\n", "G(T / HTTP/1.1\r\n",
        "GET  HTTP/1.1\r\n", "GET / HTTP/1.1\n", "GET /\x01 HTTP/1.1\r\n", "GET a HTTP/1.1\r\n",
        "GET /a b HTTP/1.1\r\n", "ABCDEFGHIJKLMNOPQ / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n",
        "GET / HTTP/1.1\r\n Host: x\r\n", "GET / HTTP/1.1\r\nHost\r\n",
        "GET / HTTP/1.1\r\nHost: a\rb\r\n", "GET / HTTP/1.1\r\n: x\r\n"}) {
    EXPECT_EQ(status_of(text), 400) << text;
    EXPECT_EQ(outcome_by_bytes(text), outcome(text, {})) << text;
  }
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n"), 417);
}

TEST(HttpParser, ALengthIsSaidOnceAndInOneWay) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (const char* text :
       {"Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "Content-Length: 1, 1\r\n\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "Content-Length: +1\r\n\r\n",
        "Content-Length: -1\r\n\r\n", "Content-Length: 0x1\r\n\r\n", "Content-Length:\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x1\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1 \r\n"}) {
    EXPECT_EQ(status_of(head + text), 400) << text;
    EXPECT_EQ(outcome_by_bytes(head + text), outcome(head + text, {})) << text;
  }
  EXPECT_EQ(status_of(head + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(HttpParser, HoldsEachLimitToTheByte) {
  const HttpLimits limits{
      .line_bytes_max = 40, .header_bytes_max = 60, .headers_max = 3, .body_bytes_max = 10};
  const auto accepted = [&](const std::string& text) {
    HttpParser parser(limits);
    parser.feed(text);
    EXPECT_EQ(outcome_by_bytes(text, limits), outcome(text, {}, limits));
    return parser.done();
  };
  const std::string line = "GET /" + std::string(25, 'a') + " HTTP/1.1\r";
  EXPECT_EQ(line.size(), 40U);
  EXPECT_TRUE(accepted(line + "\nHost: x\r\n\r\n"));
  EXPECT_EQ(status_of("a" + line, limits), 414);

  const std::string host = "GET / HTTP/1.1\r\nHost: x\r\n";  // 9 bytes of headers
  EXPECT_TRUE(accepted(host + "a: " + std::string(45, 'b') + "\r\n\r\n"));
  EXPECT_EQ(status_of(host + "a: " + std::string(48, 'b') + "\r\n", limits), 431);
  EXPECT_EQ(status_of(host + std::string(52, 'a'), limits), 431);
  EXPECT_TRUE(accepted(host + "a:b\r\na:b\r\n\r\n"));
  EXPECT_EQ(status_of(host + "a:b\r\na:b\r\na:b\r\n", limits), 431);

  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_TRUE(accepted(post + "Content-Length: 10\r\n\r\n0123456789"));
  EXPECT_EQ(status_of(post + "Content-Length: 11\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of(post + "Content-Length: 99999999999999999999999\r\n\r\n", limits), 413);
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_TRUE(accepted(chunked + "5\r\n01234\r\n5\r\n01234\r\n0\r\n\r\n"));
  EXPECT_EQ(status_of(chunked + "5\r\n01234\r\n6\r\n", limits), 413);
  EXPECT_EQ(status_of(chunked + "ffffffffffffffffffff\r\n", limits), 413);
  EXPECT_EQ(status_of(chunked + "1;" + std::string(300, 'a'), limits), 400);
  EXPECT_EQ(status_of(chunked + "0\r\n" + std::string(61, 'a'), limits), 431);
}

TEST(HttpParser, SaysWhenTheClientWaitsBeforeItsBody) {
  HttpParser parser({});
  parser.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(parser.in_body());
  EXPECT_TRUE(parser.take_continue());
  EXPECT_FALSE(parser.take_continue());
  parser.feed("ab");
  EXPECT_EQ(parser.take().body, "ab");
  EXPECT_FALSE(parser.begun());
  parser.feed("G");
  EXPECT_TRUE(parser.begun());
}

TEST(HttpParser, AnyCutGivesTheSameOutcomeForMutatedRequests) {
  const std::string whole = std::string(kChunked) + std::string(kPost) + std::string(kGet);
  const std::string_view bytes_of_http = "\r\n :;,0123aAfF\t\x7f\xff/";
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    std::string text = whole;
    for (std::uint64_t i = rng.below(4); i > 0; --i) {
      text[rng.below(text.size())] = bytes_of_http[rng.below(bytes_of_http.size())];
    }
    const std::size_t cut = rng.below(text.size());
    const std::string expected = outcome(text, {});
    ASSERT_EQ(outcome(text, {cut}), expected) << text;
    ASSERT_EQ(outcome_by_bytes(text), expected) << text;
  }
}

}  // namespace
}  // namespace weft::http_parser_test
