#include "weft/http/http_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::http_router_test {
namespace {

using testing::HasSubstr;

HttpMatch find(const std::string& method, const std::string& path,
               const std::string& host = "localhost", bool has_length = true) {
  static const HttpRouter router(
      {{"/", "GET"}, {"/things", "GET"}, {"/things/", "GET"}, {"/ask", "POST"}}, "/things or /ask",
      {"own.example"});
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.has_length = has_length;
  request.headers = {{"host", host}, {"content-type", "application/json"}};
  return router.find(request);
}

TEST(HttpRouter, APathLeadsToItsRoute) {
  EXPECT_EQ(find("GET", "/").route, 0U);
  EXPECT_EQ(find("HEAD", "/things").route, 1U);
  EXPECT_EQ(find("GET", "/things/").route, 2U);
  EXPECT_EQ(find("GET", "/things/a/b").route, 2U);
  EXPECT_EQ(find("POST", "/ask", "own.example").route, 3U);
  for (const char* const path : {"/", "/things", "/things/a"}) {
    EXPECT_FALSE(find("GET", path).refusal.has_value()) << path;
  }
  EXPECT_FALSE(find("POST", "/ask").refusal.has_value());
}

TEST(HttpRouter, WhatIsRefusedIsToldWhy) {
  const auto refused = [](const HttpMatch& match, int status, const std::string& why) {
    ASSERT_TRUE(match.refusal.has_value()) << why;
    EXPECT_EQ(match.refusal->status, status);
    EXPECT_THAT(match.refusal->body, HasSubstr(why));
  };
  refused(find("GET", "/thing"), 404, "path: expected /things or /ask");
  EXPECT_EQ(find("GET", "/thing").route, std::nullopt);
  refused(find("GET", "/", "evil.example"), 403, "evil.example");
  EXPECT_EQ(find("GET", "/", "evil.example").route, std::nullopt);
  refused(find("POST", "/things/a"), 405, "expected GET for /things/");
  EXPECT_EQ(find("POST", "/things/a").route, 2U);
  const HttpMatch read = find("GET", "/ask");
  refused(read, 405, "expected POST for /ask");
  EXPECT_THAT(read.refusal->headers,
              testing::Contains(std::pair<std::string, std::string>("Allow", "POST")));
  refused(find("POST", "/ask", "localhost", false), 411, "Content-Length");
}

TEST(HttpRouter, ABodyThatIsNotJsonIsRefused) {
  const HttpRouter router({{"/ask", "POST"}}, "/ask", {});
  HttpRequest request;
  request.method = "POST";
  request.path = "/ask";
  request.has_length = true;
  request.headers = {{"host", "localhost"}, {"content-type", "text/plain"}};
  const HttpMatch match = router.find(request);
  ASSERT_TRUE(match.refusal.has_value());
  EXPECT_EQ(match.refusal->status, 415);
}

}  // namespace
}  // namespace weft::http_router_test
