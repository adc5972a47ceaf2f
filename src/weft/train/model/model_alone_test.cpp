// A checkpoint is a whole model: with its data gone, predict, export, load_model() and evaluation
// go on from the file alone and agree.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/base/rng.h"
#include "weft/data/npy.h"
#include "weft/data/tokenizer.h"
#include "weft/io/continue_text.h"
#include "weft/io/model_file.h"
#include "weft/io/onnx_import.h"
#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/model/evaluate_checkpoint.h"
#include "weft/train/model/export_checkpoint.h"
#include "weft/train/model/predict.h"
#include "weft/train/run/checkpoints.h"
#include "weft/train/run/wiring.h"

namespace weft::model_alone_test {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class ModelAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("weft-alone-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  // A run of `steps` with its checkpoint in OUT/checkpoints; the trainer.
  std::unique_ptr<Trainer> train(Recipe recipe, std::int64_t steps) const {
    recipe.run.steps = steps;
    Result<std::unique_ptr<Trainer>> made = Trainer::make(recipe, {}, clock_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    ScriptedExchange exchange(last_round(recipe));
    for (std::int64_t round = 1; round <= steps; ++round) {
      const Turn turn = *exchange.next();
      EXPECT_TRUE((*made)->run_round(turn, exchange).ok());
      exchange.applied(turn.round, (*made)->hash());
    }
    EXPECT_TRUE(Checkpoints(path("out/checkpoints"), 3, "00").save(**made).ok());
    return std::move(made).value();
  }
  Recipe recipe(const std::string& model, const std::string& data, const std::string& file) const {
    Recipe recipe;
    recipe.model.name = model;
    recipe.model.hidden_units = 16;
    recipe.model.layers = 1;
    recipe.model.embedding_width = 16;
    recipe.model.heads = 2;
    recipe.data.name = data;
    recipe.data.path = file;
    if (data == "text") recipe.data.context = 16;
    if (data == "synthetic") recipe.data.synthetic_samples = 64;
    recipe.run.global_batch = 16;
    recipe.optimizer.name = "adamw";
    recipe.optimizer.learning_rate = 0.01;
    return recipe;
  }
  Result<Prediction> predicted(const std::string& input) const {
    PredictRequest request;
    request.checkpoint = path("out");
    request.input = input;
    return predict(request, {});
  }
  // What the exported ONNX file says of `inputs`.
  Array of_onnx(const Array& inputs) const {
    ExportRequest request;
    request.checkpoint = path("out");
    request.onnx = path("model.onnx");
    const Result<std::string> exported = export_checkpoint(request, {});
    EXPECT_TRUE(exported.ok()) << exported.status().message();
    const Result<OnnxProgram> program = OnnxProgram::make(*read_onnx(request.onnx));
    EXPECT_TRUE(program.ok()) << program.status().message();
    const auto results = program->run({inputs});
    EXPECT_TRUE(results.ok()) << results.status().message();
    return results->front();
  }

  const SystemClock clock_{};
  std::filesystem::path folder_;
};

// size and age are numbers in different units, kind is of words; a value in ten is missing.
std::string houses(bool classes) {
  std::string text = "size,kind,age," + std::string(classes ? "fate" : "price") + "\n";
  Rng rng(3);
  for (int row = 0; row < 300; ++row) {
    const double size = 1000.0 + 100.0 * rng.normal();
    const double age = 0.01 * rng.normal();
    const auto kind = static_cast<int>(rng.below(3));
    const double price = 100.0 + 0.3 * (size - 1000.0) - 1000.0 * age + 20.0 * kind;
    const char* const kinds[] = {"flat", "house", "hut"};
    text += (rng.chance(0.1) ? std::string() : std::to_string(size)) + "," + kinds[kind] + "," +
            std::to_string(age) + "," +
            (classes ? (price > 120 ? "sold" : "kept") : std::to_string(price)) + "\n";
  }
  return text;
}

const char* const kAsked = "age,note,kind,size\n0.01,x,hut,1100\n-0.02,y,castle,\n0,z,flat,905.5\n";
// The same as files of arrays say it; words are numbered as they came first in the table.
Array asked(const DataDescription& data) {
  const std::vector<std::string>& words = data.columns[1].words;
  const auto number = [&](const char* word) {
    return static_cast<float>(std::find(words.begin(), words.end(), word) - words.begin());
  };
  return Array::from<float>(
      {1100, number("hut"), 0.01F, kNan, kNan, -0.02F, 905.5F, number("flat"), 0}, {3, 3});
}

TEST_F(ModelAlone, TablesOfClassesAndOfValues) {
  for (const bool classes : {true, false}) {
    Recipe made = recipe("mlp", "rows", put("houses.csv", houses(classes)));
    made.data.classify = classes;
    const auto trainer = train(made, 200);
    std::filesystem::remove(path("houses.csv"));
    const Result<Prediction> said = predicted(put("asked.csv", kAsked));
    ASSERT_TRUE(said.ok()) << said.status().message();
    EXPECT_THAT(said->note, HasSubstr("1 fields hold a word that training did not have"));
    const std::vector<float> want = said->outputs.to_vector<float>();
    ASSERT_EQ(want.size(), classes ? 6U : 3U);
    const LoadedModel loaded = load_model(path("out")).value();
    const Array rows = asked(loaded.data);
    ASSERT_TRUE(write_npy(path("asked.npy"), rows).ok());
    EXPECT_EQ(predicted(path("asked.npy"))->outputs.to_vector<float>(), want);
    EXPECT_EQ(loaded.predict(rows)->to_vector<float>(), want);
    EXPECT_EQ(loaded.step, 200);
    EXPECT_THAT(of_onnx(rows).to_vector<float>(),
                Pointwise(FloatNear(classes ? 1e-4F : 0.01F), want));
    if (classes) {
      EXPECT_EQ(loaded.data.class_names.size(), 2U);
    } else {
      EXPECT_NEAR(want[0], 100 + 30 - 10 + 40, 25.0) << "in the units of the table";
    }
    std::filesystem::remove_all(path("out"));
  }
}

TEST_F(ModelAlone, ATextKeepsItsAlphabet) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  const auto trainer = train(recipe("char_gpt", "text", put("t.txt", text)), 20);
  const std::string before = predicted("the q")->text;
  // As many characters, but other ones: an alphabet learned anew would be shuffled.
  std::string other = text;
  for (char& letter : other) letter = letter == 'q' ? 'Q' : letter == 'z' ? 'A' : letter;
  put("t.txt", other);
  EXPECT_EQ(predicted("the q")->text, before);
  std::filesystem::remove(path("t.txt"));
  EXPECT_EQ(predicted("the q")->text, before);

  LoadedModel loaded = load_model(path("out")).value();
  auto& model = dynamic_cast<CausalLanguageModel&>(*loaded.model);
  const std::vector<std::int32_t> prompt = loaded.data.tokenizer->encode("the q").value();
  EXPECT_EQ("the q" + *loaded.data.tokenizer->decode(continue_tokens(model, prompt, {})) + "\n",
            before);
  const Array tokens = Array::zeros({1, 16}, DType::kI64);
  EXPECT_THAT(of_onnx(tokens).to_vector<float>(),
              Pointwise(FloatNear(1e-4F), loaded.predict(tokens)->to_vector<float>()));
  EXPECT_EQ(read_onnx(path("model.onnx"))->metadata.at("weft.tokenizer"),
            loaded.data.tokenizer->file_text());
}

TEST_F(ModelAlone, ImagesAreNormalisedInsideTheFile) {
  const auto trainer = train(recipe("mlp", "synthetic", ""), 5);
  Rng rng(5);
  Array pixels = Array::empty({3, 1, 28, 28}, DType::kU8);
  for (std::uint8_t& pixel : pixels.flat<std::uint8_t>()) {
    pixel = static_cast<std::uint8_t>(rng.below(256));
  }
  ASSERT_TRUE(write_npy(path("x.npy"), pixels).ok());
  const std::vector<float> want = predicted(path("x.npy"))->outputs.to_vector<float>();
  EXPECT_EQ(load_model(path("out"))->predict(pixels)->to_vector<float>(), want);
  EXPECT_THAT(of_onnx(pixels.to(DType::kF32)).to_vector<float>(),
              Pointwise(FloatNear(1e-4F), want));
  EXPECT_EQ(
      load_model(path("out"))->predict(Array::zeros({1, 3, 28, 28}, DType::kU8)).status().code(),
      Code::kInvalidArgument);
}

TEST_F(ModelAlone, IsMeasuredWithItsOwnTokenizerAndSaysWhereTheDataShouldBe) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  const auto trainer = train(recipe("char_gpt", "text", put("t.txt", text)), 20);
  const auto before = evaluate_checkpoint(path("out"), {}, clock_);
  ASSERT_TRUE(before.ok()) << before.status().message();
  EXPECT_EQ(before->digest, trainer->digest());
  put("t.txt", text.substr(0, text.size() / 2) + "A" + text.substr(text.size() / 2));
  const Status other = evaluate_checkpoint(path("out"), {}, clock_).status();
  EXPECT_TRUE(other.ok()) << other.message() << ": the letter is no part of the test split";
  std::filesystem::remove(path("t.txt"));
  const Status gone = evaluate_checkpoint(path("out"), {}, clock_).status();
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_THAT(gone.message(), HasSubstr("say where they are with --data"));
}

TEST_F(ModelAlone, DoesNotGoOnWithAnotherAlphabet) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  const Recipe made = recipe("char_gpt", "text", put("t.txt", text));
  const auto trainer = train(made, 2);
  const Checkpoints checkpoints(path("out/checkpoints"), 3, "00");
  EXPECT_TRUE(checkpoints.load_newest(*trainer).ok());
  for (char& letter : text) letter = letter == 'q' ? 'Q' : letter == 'z' ? 'A' : letter;
  put("t.txt", text);
  const auto other = Trainer::make(made, {}, clock_).value();
  EXPECT_THAT(checkpoints.load_newest(*other).status().message(),
              HasSubstr("was trained on data with other tokenizer; resume with the data"));
}

TEST_F(ModelAlone, TheNewestGoodCheckpointOfARunIsTaken) {
  const auto trainer = train(recipe("mlp", "synthetic", ""), 2);
  const std::string good = path("out/checkpoints/checkpoint-2.safetensors");
  const std::string bad = path("out/checkpoints/checkpoint-9.safetensors");
  Bytes bytes = read_file(good, 1U << 24U).value();
  bytes[bytes.size() - 5] ^= 0x10U;
  ASSERT_TRUE(write_file_atomically(bad, bytes).ok());
  EXPECT_EQ(*find_checkpoint(path("out")), good);
  EXPECT_EQ(*find_checkpoint(path("out/checkpoints")), good);
  EXPECT_EQ(*find_checkpoint(bad), bad) << "a file is what was asked for";
  EXPECT_EQ(load_model(bad).status().code(), Code::kCorrupt);
  EXPECT_EQ(load_model(path("out"))->step, 2);
  EXPECT_THAT(find_checkpoint(folder_.string()).status().message(),
              HasSubstr("the folder of a run"));
  EXPECT_EQ(load_model(path("none")).status().code(), Code::kUnavailable);
}

TEST_F(ModelAlone, TheBestIsTakenByItsNameOrWhereNoOtherIs) {
  const auto trainer = train(recipe("mlp", "synthetic", ""), 2);
  const std::string newest = path("out/checkpoints/checkpoint-2.safetensors");
  const std::string best = best_checkpoint_path(path("out/checkpoints"));
  std::filesystem::copy_file(newest, best);
  EXPECT_EQ(*find_checkpoint(path("out")), newest);
  EXPECT_EQ(*find_checkpoint(best), best);
  std::filesystem::remove(newest);
  EXPECT_EQ(*find_checkpoint(path("out")), best);
  EXPECT_EQ(*find_checkpoint(path("out/checkpoints")), best);
}

TEST_F(ModelAlone, AWeightThatIsNoNumberIsRefused) {
  const auto trainer = train(recipe("mlp", "synthetic", ""), 1);
  trainer->arena().parameters()[7] = kNan;
  const std::string file = path("nan.safetensors");
  ASSERT_TRUE(save_checkpoint(file, trainer->arena(), trainer->checkpoint_info("00")).ok());
  const Status refused = load_model(file).status();
  EXPECT_EQ(refused.code(), Code::kCorrupt);
  EXPECT_THAT(refused.message(), HasSubstr("expected finite numbers, got not a number"));
  EXPECT_EQ(evaluate_checkpoint(file, {}, clock_).status().code(), Code::kCorrupt);
}

TEST_F(ModelAlone, AFileOfAnOlderReleaseNeedsItsData) {
  const std::string table = put("houses.csv", houses(true));
  const auto trainer = train(recipe("mlp", "rows", table), 3);
  CheckpointInfo info = trainer->checkpoint_info("00");
  const ModelCard card = parse_card(info.card).value();
  EXPECT_EQ(card.data.columns.size(), 3U);
  info.card = {};
  const std::string file = path("old.safetensors");
  ASSERT_TRUE(save_checkpoint(file, trainer->arena(), info).ok());
  EXPECT_THAT(load_model(file).status().message(), HasSubstr("older release"));
  // What it takes is what that release made of a table: a word is its number.
  PredictRequest request;
  request.checkpoint = file;
  request.input = path("x.npy");
  ASSERT_TRUE(write_npy(request.input, Array::zeros({1, 3})).ok());
  const Status sizes = predict(request, {}).status();
  EXPECT_THAT(sizes.message(), HasSubstr("fc1.weight"));
  std::filesystem::remove(table);
  EXPECT_EQ(predict(request, {}).status().code(), Code::kUnavailable);
}

TEST_F(ModelAlone, HostileSizesTakeNoMemory) {
  const auto trainer = train(recipe("mlp", "synthetic", ""), 1);
  CheckpointInfo info = trainer->checkpoint_info("00");
  const std::string file = path("large.safetensors");
  const auto with = [&](const std::string& from, const std::string& to) {
    CheckpointInfo altered = info;
    std::string& text = altered.card.model;
    text.replace(text.find(from), from.size(), to);
    EXPECT_TRUE(save_checkpoint(file, trainer->arena(), altered).ok());
    return load_model(file).status();
  };
  EXPECT_FALSE(with("\"hidden_units\":16", "\"hidden_units\":65536").ok());
  EXPECT_THAT(with("\"hidden_units\":16", "\"hidden_units\":65537").message(),
              HasSubstr("hidden_units"));
  EXPECT_THAT(with("\"height\":28", "\"height\":29").message(), HasSubstr("sizes of its data"));
  EXPECT_FALSE(with("\"mlp\"", "\"nothing\"").ok());
}

}  // namespace
}  // namespace weft::model_alone_test
