#include "weft/http/request_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::request_source_test {
namespace {

using testing::HasSubstr;

HttpRequest request_of(const std::string& host, const std::string& origin = "") {
  HttpRequest request;
  if (!host.empty()) request.headers.emplace_back("host", host);
  if (!origin.empty()) request.headers.emplace_back("origin", origin);
  return request;
}

TEST(RequestSource, AHostIsANameOrAnAddressAndMaybeAPort) {
  EXPECT_EQ(host_of("LocalHost:8080"), "localhost");
  EXPECT_EQ(host_of("a.b"), "a.b");
  EXPECT_EQ(host_of("127.0.0.1:80"), "127.0.0.1");
  EXPECT_EQ(host_of("[::1]:80"), "::1");
  EXPECT_EQ(host_of("[::1]"), "::1");
  for (const char* const wrong : {"", "a:b", "a:", "[::1", "[::1]80", "a:99999", "::1", ":80"}) {
    EXPECT_EQ(host_of(wrong), "") << wrong;
  }
}

TEST(RequestSource, NamesThatAreNotThisServersAreRefused) {
  const std::vector<std::string> hosts = {"model.example"};
  for (const char* const own : {"localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080",
                                "192.168.1.7", "model.example", "Model.Example:443"}) {
    EXPECT_EQ(source_fault(request_of(own), hosts), std::nullopt) << own;
  }
  // A name that was made to lead to 127.0.0.1.
  for (const char* const other :
       {"evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x",
        "2130706433.evil", "model.example.evil"}) {
    const auto fault = source_fault(request_of(other), hosts);
    ASSERT_TRUE(fault.has_value()) << other;
    EXPECT_EQ(fault->status, 403);
    EXPECT_THAT(fault->reason, HasSubstr("--allow-host"));
  }
  EXPECT_EQ(source_fault(request_of(""), hosts), std::nullopt);  // HTTP/1.0
}

TEST(RequestSource, PagesOfOtherSitesAreRefused) {
  EXPECT_EQ(source_fault(request_of("localhost:8080", "http://localhost:8080"), {}), std::nullopt);
  for (const char* const origin :
       {"http://evil.example", "https://evil.example", "null", "http://localhost:9000",
        "http://localhost", "http://127.0.0.1:8080", "file://", "localhost:8080"}) {
    const auto fault = source_fault(request_of("localhost:8080", origin), {});
    ASSERT_TRUE(fault.has_value()) << origin;
    EXPECT_EQ(fault->status, 403);
  }
}

TEST(RequestSource, ABodyIsJson) {
  const auto fault = [](const char* type) {
    HttpRequest request;
    if (type != nullptr) request.headers.emplace_back("content-type", type);
    return content_fault(request);
  };
  for (const char* const json :
       {"application/json", "Application/JSON; charset=utf-8", "application/json ;x"}) {
    EXPECT_EQ(fault(json), std::nullopt) << json;
  }
  // What a page may send without asking.
  for (const char* const simple : {"text/plain", "application/x-www-form-urlencoded",
                                   "multipart/form-data; boundary=x", "", "application/jsonp"}) {
    ASSERT_TRUE(fault(simple).has_value()) << simple;
    EXPECT_EQ(fault(simple)->status, 415);
  }
  EXPECT_TRUE(fault(nullptr).has_value());
}

}  // namespace
}  // namespace weft::request_source_test
