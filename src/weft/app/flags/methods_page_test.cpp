#include "weft/app/flags/methods_page.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::methods_page_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Option kOptions[] = {
    {.name = "keep", .fallback = 8, .min = 1, .max = 64, .whole = true, .help = "How many."}};

std::vector<MethodFamily> families() {
  return {{"group.wire",
           "codec",
           "How values travel",
           "encodes",
           {{"sparse", "Sends few values (Author 2020).", kOptions, "each hop"},
            {"plain", "Sends all values", {}, "each hop"}}},
          {"group.late", "gate", "What is late", "", {{"plain", "Counts it.", {}, ""}}}};
}

TEST(MethodsPage, NamesKeysMethodsSourcesAndOptions) {
  EXPECT_EQ(methods_page(families(), 60),
            "group.wire: How values travel.\n"
            "  sparse\n"
            "      Sends few values (Author 2020).\n"
            "      encodes: each hop\n"
            "      keep = 8 (whole, 1 to 64): How many.\n"
            "  plain\n"
            "      Sends all values.\n"
            "      encodes: each hop\n"
            "\n"
            "group.late: What is late.\n"
            "  plain\n"
            "      Counts it.\n");
}

TEST(MethodsPage, ChoosesByKeyAndByName) {
  const auto by_key = choose_methods(families(), "group.wire");
  ASSERT_EQ(by_key->size(), 1U);
  EXPECT_EQ(by_key->front().methods.size(), 2U);
  const auto by_name = choose_methods(families(), "plain");
  ASSERT_EQ(by_name->size(), 2U);
  EXPECT_EQ(by_name->front().key, "group.wire");
  EXPECT_EQ(by_name->back().methods.front().summary, "Counts it.");
}

TEST(MethodsPage, SaysWhatWasPerhapsMeant) {
  EXPECT_THAT(choose_methods(families(), "spars").status().message(),
              HasSubstr("got \"spars\"; did you mean \"sparse\"?"));
  EXPECT_THAT(choose_methods(families(), "\x1b[31m").status().message(), Not(HasSubstr("\x1b")));
}

TEST(MethodsPage, ListsEveryFamilyOfThisProgramWithinTheWidth) {
  const std::string page = methods_page(method_families(), 80);
  for (const char* const text :
       {"aggregate.rule:", "code:", "gossip.topology:", "group.late:", "group.wire:", "krum",
        "m_sgc", "topk", "random_regular", "polynomial"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace weft::methods_page_test
