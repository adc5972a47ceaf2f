// The bodies of predictions, and of errors.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/http/api_error.h"
#include "weft/serve/json/predict_json.h"

namespace weft::json_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr RowRule kRule = {.features = 4, .rows_max = 3};

std::string refusal(std::string_view body, const RowRule& rule = kRule) {
  const auto rows = parse_predict(body, rule);
  EXPECT_FALSE(rows.ok()) << body;
  if (rows.ok()) return "";
  EXPECT_EQ(rows.status().code(), Code::kInvalidArgument);
  return rows.status().message();
}

TEST(PredictJson, ReadsFlatAndNestedRows) {
  const auto rows =
      parse_predict(R"({"model":"m","inputs":[[1,-2.5,3e2,0],[[[1],[2]],[[3],[4]]]]})", kRule);
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->rows, 2);
  EXPECT_EQ(rows->model, "m");
  EXPECT_THAT(rows->values, ElementsAre(1, -2.5F, 300, 0, 1, 2, 3, 4));
}

TEST(PredictJson, SaysWhereAndWhatWasExpected) {
  EXPECT_EQ(refusal(""), "body: expected JSON, got something else at byte 1");
  EXPECT_THAT(refusal("{\"inputs\":[[1,2,3,4]]} x"), HasSubstr("expected JSON"));
  EXPECT_EQ(refusal("[1]"), "body: expected an object, got an array");
  EXPECT_EQ(refusal("7"), "body: expected an object, got a number");
  EXPECT_EQ(refusal("{}"), "inputs: expected at least one row");
  EXPECT_EQ(refusal(R"({"inputs":[]})"), "inputs: expected at least one row");
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3]]})"), "inputs[0]: expected 4 numbers, got 3");
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3,4],[1,2,3,4,5]]})"),
            "inputs[1]: expected 4 numbers, got at least 5");
  EXPECT_EQ(refusal(R"({"inputs":[1]})"), "inputs: expected rows of numbers, got a number");
  EXPECT_EQ(refusal(R"({"inputs":[["a"]]})"), "inputs: expected rows of numbers, got a text");
  EXPECT_EQ(refusal(R"({"inputs":[[null]]})"), "inputs: expected rows of numbers, got null");
  EXPECT_EQ(refusal(R"({"inputs":{"a":1}})"), "inputs: expected rows of numbers, got an object");
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3,1e300]]})"),
            "inputs[0][3]: expected a number of 32 bits, got 1e+300");
  EXPECT_EQ(refusal(R"({"inputs":[[1],[1],[1],[1]]})", {.features = 1, .rows_max = 3}),
            "inputs: expected at most 3 rows");
  EXPECT_THAT(refusal(R"({"rows":1})"), HasSubstr("\"rows\": expected the keys inputs and model"));
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3,4]],"inputs":[[1,2,3,4]]})"), "inputs: expected once");
  EXPECT_EQ(refusal(R"({"model":"","model":"m","inputs":[[1,2,3,4]]})"), "model: expected once");
  EXPECT_EQ(refusal(R"({"model":[1]})"), "model: expected a text, got an array");
  EXPECT_THAT(refusal("{\"inputs\":" + std::string(100000, '[')), HasSubstr("at most [channels]"));
}

TEST(PredictJson, PixelsAreWholeNumbersOfAByte) {
  const RowRule pixels = {.features = 2, .pixels = true};
  EXPECT_TRUE(parse_predict(R"({"inputs":[[0,255],[1.0,2]]})", pixels).ok());
  for (const char* wrong : {"256", "-1", "0.5", "1e9"}) {
    EXPECT_THAT(refusal(std::string(R"({"inputs":[[0,)") + wrong + "]]}", pixels),
                HasSubstr("inputs[0][1]: expected a pixel"));
  }
}

TEST(PredictJson, AnswersAreJsonThatReadsBackTheSameNumbers) {
  PredictOutputs outputs{2, 3, {0.1F, 1e-30F, 0.1F, -3, 1.0F / 3, 4}};
  const std::vector<std::string> names = {"a", "b \"quoted\"", "c"};
  const json read = json::parse(predict_answer("m", outputs, true, names));
  EXPECT_EQ(read["classes"], json({0, 2}));
  EXPECT_EQ(read["labels"], json({"a", "c"}));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(read["outputs"][i / 3][i % 3].get<float>(), outputs.values[i]);
  }
  outputs.values[1] = std::numeric_limits<float>::quiet_NaN();
  const json broken = json::parse(predict_answer("m", outputs, false, {}));
  EXPECT_TRUE(broken["outputs"][0][1].is_null());
  EXPECT_FALSE(broken.contains("classes"));
}

TEST(ApiError, HasTheShapeOfOpenAisWhateverTheMessage) {
  const json plain = json::parse(error_json({.status = 413, .message = "a \"b\"\n\xFF"}));
  EXPECT_EQ(plain["error"].size(), 4U);
  EXPECT_EQ(plain["error"]["message"], "a \"b\"\n\xEF\xBF\xBD");
  EXPECT_EQ(plain["error"]["type"], "invalid_request_error");
  EXPECT_TRUE(plain["error"]["param"].is_null());
  EXPECT_TRUE(plain["error"]["code"].is_null());
  const json named = json::parse(
      error_json({.status = 404, .message = "x", .param = "model", .code = "model_not_found"}));
  EXPECT_EQ(named["error"]["param"], "model");
  EXPECT_EQ(named["error"]["code"], "model_not_found");
  EXPECT_EQ(json::parse(error_json({.status = 503, .message = "x"}))["error"]["type"],
            "server_error");
  EXPECT_EQ(error_response({.status = 404, .message = "x"}).status, 404);
}

}  // namespace
}  // namespace weft::json_test
