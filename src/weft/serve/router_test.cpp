// What a request becomes, without a socket.
#include "weft/serve/router.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/serve/model/test_checkpoint.h"

namespace weft::router_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RouterTest : public testing::Test {
 protected:
  void serve(std::string recipe, const std::string& name) {
    const std::size_t at = recipe.find("[run]\nname = \"");
    const std::size_t begin = at + 14;
    recipe.replace(begin, recipe.find('"', begin) - begin, name);
    checkpoint_ = make_test_checkpoint(folder_, recipe);
    model_ = load_served(checkpoint_->path);
    router_.emplace(*model_, metrics_, 1024, 123, std::vector<std::string>());
  }
  void serve_text(const std::string& name) {
    serve(text_recipe(folder_.put("text.txt", test_text())), name);
  }
  Routed ask(const std::string& method, const std::string& path, const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.has_length = true;
    request.headers = {{"host", "localhost"}, {"content-type", "application/json"}};
    return router_->route(request, {});
  }
  HttpResponse answer(const std::string& method, const std::string& path,
                      const std::string& body = "") {
    Routed routed = ask(method, path, body);
    const auto* const response = std::get_if<HttpResponse>(&routed.result);
    EXPECT_NE(response, nullptr) << path << " became a job";
    return response == nullptr ? HttpResponse() : *response;
  }
  json error(int status, const std::string& method, const std::string& path,
             const std::string& body = "") {
    const HttpResponse response = answer(method, path, body);
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body)["error"];
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_;
  std::unique_ptr<ServedModel> model_;
  ServeMetrics metrics_;
  std::optional<Router> router_;
};

TEST(ModelId, NeedsNoQuotesAnywhere) {
  EXPECT_EQ(model_id("char GPT"), "char-GPT");
  EXPECT_EQ(model_id("  a / b\t(c)?  "), "a-b-c");
  EXPECT_EQ(model_id("llama-3.1_q8:latest"), "llama-3.1_q8:latest");
  EXPECT_EQ(model_id("M\xC3\xBCller 2"), "M\xC3\xBCller-2");
  EXPECT_EQ(model_id(""), "model");
  EXPECT_EQ(model_id(" \"\n"), "model");
}

TEST_F(RouterTest, ModelsAreListedAndRetrieved) {
  serve_text("somebody's text 2");
  const json list = json::parse(answer("GET", "/v1/models").body);
  EXPECT_EQ(list["object"], "list");
  const json model = list["data"][0];
  EXPECT_EQ(model["id"], "somebody-s-text-2");
  EXPECT_EQ(model["name"], "somebody's text 2");
  EXPECT_EQ(model["object"], "model");
  EXPECT_EQ(model["created"], 123);
  EXPECT_EQ(model["owned_by"], "weft");
  EXPECT_EQ(model["context"], 48);
  for (const char* const path :
       {"/v1/models/somebody%2ds-text-2", "/v1/models/somebody's%20text%202"}) {
    EXPECT_EQ(json::parse(answer("GET", path).body), model) << path;
    EXPECT_EQ(ask("GET", path).route, "/v1/models/");
  }
  for (const char* const other :
       {"/v1/models/", "/v1/models/gpt-4", "/v1/models/%", "/v1/models/%4"}) {
    const json fault = error(404, "GET", other);
    EXPECT_EQ(fault["code"], "model_not_found");
    EXPECT_EQ(fault["param"], "model");
    EXPECT_THAT(fault["message"].get<std::string>(), HasSubstr("somebody-s-text-2"));
  }
  error(405, "POST", "/v1/models/x");
}

TEST_F(RouterTest, ACompletionTakesTheModelsIdOrItsName) {
  serve_text("my text");
  for (const char* const name : {"my-text", "my text"}) {
    const Routed routed =
        ask("POST", "/v1/completions", R"({"prompt":"a","model":")" + std::string(name) + "\"}");
    EXPECT_TRUE(std::holds_alternative<JobWork>(routed.result)) << name;
    EXPECT_EQ(routed.route, "/v1/completions");
  }
  EXPECT_EQ(error(404, "POST", "/v1/completions", R"({"prompt":"a","model":"gpt-4"})")["code"],
            "model_not_found");
  const json fault = error(400, "POST", "/v1/completions", R"({"prompt":"a","n":0})");
  EXPECT_EQ(fault["param"], "n");
  EXPECT_TRUE(fault["code"].is_null());
}

TEST_F(RouterTest, ChatSaysWhatToUseInstead) {
  serve_text("text");
  const json fault = error(404, "POST", "/v1/chat/completions", R"({"messages":[]})");
  EXPECT_THAT(fault["message"].get<std::string>(),
              AllOf(HasSubstr("no chat template"), HasSubstr("/v1/completions")));
  EXPECT_EQ(fault["code"], "no_chat_template");
}

TEST_F(RouterTest, APredictionsFaultNamesItsField) {
  serve(kImageRecipe, "my images");
  EXPECT_EQ(error(400, "POST", "/v1/predict", R"({"inputs":[[1]]})")["param"], "inputs");
  EXPECT_TRUE(error(400, "POST", "/v1/predict", "{")["param"].is_null());
  EXPECT_THAT(error(404, "POST", "/v1/chat/completions", "{}")["message"].get<std::string>(),
              HasSubstr("/v1/predict"));
  EXPECT_EQ(json::parse(answer("GET", "/v1/models").body)["data"][0]["id"], "my-images");
}

TEST_F(RouterTest, AModelOfClassesNamesThem) {
  std::string table = "a,b,kind\n";
  for (int i = 0; i < 40; ++i) {
    table +=
        std::to_string(i * 3) + "," + std::to_string(i % 7) + (i % 2 == 0 ? ",cat\n" : ",d\\g\n");
  }
  const std::string path = folder_.put("rows.csv", table);
  serve("[model]\nname = \"mlp\"\nhidden_units = 8\n[data]\nname = \"rows\"\npath = \"" + path +
            "\"\n[run]\nname = \"\"\nglobal_batch = 4\n",
        "rows");
  const json model = json::parse(answer("GET", "/v1/models/rows").body);
  EXPECT_EQ(model["kind"], "rows");
  EXPECT_EQ(model["input"], json::array({2}));
  EXPECT_EQ(model["classes"], json(model_->class_names()));
  EXPECT_THAT(model_->class_names(), testing::UnorderedElementsAre("cat", "d\\g"));
}

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/src/weft/serve/page/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(RouterTest, ThePageIsItsFilesAndMayRunNothingElse) {
  serve(kImageRecipe, "images");
  const std::vector<std::vector<std::string>> files = {{"/", "page.html", "text/html"},
                                                       {"/page.css", "page.css", "text/css"},
                                                       {"/page.js", "page.js", "text/javascript"}};
  for (const auto& file : files) {
    const HttpResponse response = answer("GET", file[0]);
    EXPECT_EQ(response.body, file_text(file[1]));
    EXPECT_FALSE(response.body.empty());
    EXPECT_EQ(response.content_type, file[2] + "; charset=utf-8");
    const std::string headers = encode_response(response, {.head_only = true});
    EXPECT_THAT(headers, AllOf(HasSubstr("Content-Security-Policy: default-src 'none'; "),
                               HasSubstr("script-src 'self'"), HasSubstr("frame-ancestors 'none'"),
                               Not(HasSubstr("unsafe")), HasSubstr("nosniff")));
    // Nothing of other places, and no text that becomes HTML or code.
    for (const char* const word :
         {"http:", "https:", "//cdn", "innerHTML", "outerHTML", "insertAdjacentHTML",
          "document.write", "eval(", "Function(", "style=", "onclick", "javascript:", "<script>"}) {
      EXPECT_THAT(response.body, Not(HasSubstr(word)));
    }
  }
  EXPECT_EQ(answer("GET", "/page.html").status, 404);
}

}  // namespace
}  // namespace weft::router_test
