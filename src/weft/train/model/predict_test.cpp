#include "weft/train/model/predict.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/file.h"
#include "weft/base/rng.h"
#include "weft/data/image_file.h"
#include "weft/data/npy.h"
#include "weft/data/text_file.h"
#include "weft/io/onnx_import.h"
#include "weft/io/safetensors.h"
#include "weft/train/model/checkpoint_model.h"
#include "weft/train/model/export_checkpoint.h"
#include "weft/train/run/checkpoints.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft::predict_test {
namespace {

using testing::HasSubstr;

class Predict : public testing::Test {
 public:
  Predict() : folder_(testing::TempDir() + "weft_predict_" + unique_name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Predict() override { std::filesystem::remove_all(folder_); }

  static std::string unique_name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // The path of a checkpoint of a fresh model.
  std::string checkpoint(const std::string& recipe) {
    const SystemClock clock;
    const Recipe parsed = parse_recipe(recipe, "test").value();
    const auto trainer = Trainer::make(parsed, {}, clock).value();
    return Checkpoints(path("checkpoints"), 1, "00").save(*trainer)->path;
  }
  std::string image_checkpoint() {
    return checkpoint(
        "data.name = \"synthetic\"\ndata.synthetic_samples = 32\nmodel.name = \"mlp\"\n"
        "model.hidden_units = 16\nrun.global_batch = 8\n");
  }
  std::string text_checkpoint(const std::string& model) {
    const std::string text = "the quick brown fox jumps over the lazy dog. ";
    std::string all;
    for (int i = 0; i < 40; ++i) all += text;
    EXPECT_TRUE(write_file_atomically(path("text.txt"), as_bytes(all)).ok());
    return checkpoint("data.name = \"text\"\ndata.path = \"" + path("text.txt") +
                      "\"\ndata.context = 16\nmodel.name = \"" + model +
                      "\"\nmodel.layers = 1\nmodel.embedding_width = 16\nmodel.heads = 2\n"
                      "model.hidden_units = 16\nrun.global_batch = 4\n");
  }
  Result<Prediction> predict_of(const std::string& checkpoint, const std::string& input) {
    PredictRequest request;
    request.checkpoint = checkpoint;
    request.input = input;
    request.out = path("out.npy");
    request.tokens = 40;
    return predict(request, {});
  }

  std::string folder_;
};

TEST_F(Predict, BytesAreNormalisedAsInTraining) {
  const std::string saved = image_checkpoint();
  CheckpointModel opened = open_checkpoint_model(saved, {}).value();
  const std::int64_t indexes[] = {3, 1};
  const Dataset data = open_recipe_dataset(opened.recipe, Split::kTrain, {}).value();
  const Batch batch =
      make_batch(data, indexes, {.normalization = {data.mean, data.deviation}}).value();
  Bytes pixels;
  for (const std::int64_t index : indexes) {
    const ByteSpan image = data.image(index);
    pixels.insert(pixels.end(), image.begin(), image.end());
  }
  ASSERT_TRUE(write_npy(path("x.npy"), Array::from(pixels, {2, 28, 28})).ok());
  const Prediction prediction = predict_of(saved, path("x.npy")).value();
  const Array want = opened.model->forward(Tensor(batch.inputs)).array().contiguous();
  ASSERT_EQ(prediction.outputs.shape(), want.shape());
  for (std::int64_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(prediction.outputs.data<float>()[i], want.data<float>()[i], 1e-5);
  }
  EXPECT_EQ(read_npy(path("out.npy"))->to_vector<float>(), prediction.outputs.to_vector<float>());
  EXPECT_THAT(prediction.text, HasSubstr("0: class "));
  EXPECT_THAT(prediction.text, HasSubstr("\n1: class "));
}

TEST_F(Predict, ImageFilesAreResizedAndFloatsTakenAsTheyAre) {
  const std::string saved = image_checkpoint();
  Image image;
  image.size = {1, 28, 28};
  image.pixels.assign(28 * 28, 100);
  ASSERT_TRUE(write_file_atomically(path("same.png"), encode_png(image).value()).ok());
  image.size = {1, 56, 56};
  image.pixels.assign(56 * 56, 100);
  ASSERT_TRUE(write_file_atomically(path("large.png"), encode_png(image).value()).ok());
  const std::vector<float> same = predict_of(saved, path("same.png"))->outputs.to_vector<float>();
  EXPECT_EQ(predict_of(saved, path("large.png"))->outputs.to_vector<float>(), same);
  const CheckpointModel opened = open_checkpoint_model(saved, {}).value();
  const double value = (100.0 / 255.0 - opened.data.mean[0]) / opened.data.deviation[0];
  ASSERT_TRUE(write_npy(path("x.npy"), Array::full({1, 28, 28}, value)).ok());
  const std::vector<float> floats = predict_of(saved, path("x.npy"))->outputs.to_vector<float>();
  for (std::size_t i = 0; i < same.size(); ++i) EXPECT_NEAR(floats[i], same[i], 1e-5);
}

TEST_F(Predict, SaysWhatDoesNotFit) {
  const std::string saved = image_checkpoint();
  ASSERT_TRUE(write_npy(path("x.npy"), Array::full({3, 27, 28}, 0.0)).ok());
  EXPECT_THAT(predict_of(saved, path("x.npy")).status().message(),
              HasSubstr("x.npy: expected a shape that ends in [1, 28, 28], got [3, 27, 28]"));
  EXPECT_EQ(predict_of(saved, path("none.png")).status().code(), Code::kUnavailable);
  ASSERT_TRUE(write_file_atomically(path("bad.png"), Bytes{1, 2, 3}).ok());
  EXPECT_THAT(predict_of(saved, path("bad.png")).status().message(), HasSubstr("bad.png"));
  EXPECT_FALSE(predict_of(path("x.npy"), path("x.npy")).ok());
}

TEST_F(Predict, TextsGoOnTheSameWayEachTimeAndBeyondTheContext) {
  for (const char* const model : {"char_gpt", "lstm_lm"}) {
    const std::string saved = text_checkpoint(model);
    const Prediction first = predict_of(saved, "the quick").value();
    EXPECT_EQ(first.outputs.shape(), (Shape{40})) << "more than the 16 tokens of the context";
    EXPECT_TRUE(first.text.starts_with("the quick"));
    EXPECT_EQ(predict_of(saved, "the quick")->text, first.text);
    EXPECT_EQ(predict_of(saved, "").status().code(), Code::kInvalidArgument);
    EXPECT_EQ(predict_of(saved, "QUICK").status().code(), Code::kInvalidArgument);
    PredictRequest warm;
    warm.checkpoint = saved;
    warm.input = "the quick";
    warm.tokens = 40;
    warm.temperature = 1.0;
    EXPECT_EQ(predict(warm, {})->text, predict(warm, {})->text);
    const std::string seeded = predict(warm, {})->text;
    warm.seed = 2;
    EXPECT_NE(predict(warm, {})->text, seeded);
    std::filesystem::remove_all(path("checkpoints"));
  }
}

TEST_F(Predict, WeightsOf8BitsGiveNearlyTheSame) {
  Rng rng(1);
  Array images = Array::empty({5, 28, 28});
  for (float& value : images.flat<float>()) value = static_cast<float>(rng.normal());
  ASSERT_TRUE(write_npy(path("x.npy"), images).ok());
  PredictRequest request;
  request.checkpoint = image_checkpoint();
  request.input = path("x.npy");
  const std::vector<float> want = predict(request, {})->outputs.to_vector<float>();
  request.weights = "int8";
  const std::vector<float> got = predict(request, {})->outputs.to_vector<float>();
  EXPECT_NE(got, want);
  const float largest = *std::max_element(want.begin(), want.end());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.03F * largest);
  request.weights = "int4";
  EXPECT_THAT(predict(request, {}).status().message(), HasSubstr("expected f32 or int8, got int4"));
}

TEST_F(Predict, LogitsOfTextsAreNearlyTheSameWithWeightsOf8Bits) {
  for (const char* const model : {"char_gpt", "lstm_lm"}) {
    PredictRequest request;
    request.checkpoint = text_checkpoint(model);
    request.input = path("tokens.npy");
    ASSERT_TRUE(
        write_npy(request.input, Array::from(std::vector<std::int64_t>{3, 1, 4, 1, 5}, {1, 5}))
            .ok());
    const std::vector<float> want = predict(request, {})->outputs.to_vector<float>();
    request.weights = "int8";
    const std::vector<float> got = predict(request, {})->outputs.to_vector<float>();
    EXPECT_NE(got, want);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 0.05) << model;
    std::filesystem::remove_all(path("checkpoints"));
  }
}

// What the whole text gives without a cache.
TEST_F(Predict, TheLikeliestTokenIsTheModelsOwn) {
  const std::string saved = text_checkpoint("char_gpt");
  CheckpointModel opened = open_checkpoint_model(saved, {}).value();
  const Prediction prediction = predict_of(saved, "fox").value();
  const std::vector<std::int32_t> prompt = opened.data.tokenizer->encode("fox").value();
  const std::vector<std::int64_t> wide(prompt.begin(), prompt.end());
  const Tensor logits = opened.model->forward(Tensor(Array::from(wide, {1, 3})));
  const std::vector<float> last = logits.array().select(0, 0).select(0, 2).to_vector<float>();
  EXPECT_EQ(prediction.outputs.to_vector<std::int64_t>()[0],
            std::max_element(last.begin(), last.end()) - last.begin());
}

TEST_F(Predict, ExportedModelsRunElsewhere) {
  const std::string saved = image_checkpoint();
  ExportRequest request;
  request.checkpoint = saved;
  EXPECT_THAT(export_checkpoint(request, {}).status().message(), HasSubstr("got neither"));
  request.onnx = path("model.onnx");
  request.safetensors = path("model.safetensors");
  const std::string text = export_checkpoint(request, {}).value();
  EXPECT_THAT(text, HasSubstr("model.onnx: mlp as ONNX, opset 17"));
  const OnnxModel onnx = read_onnx(path("model.onnx")).value();
  EXPECT_EQ(onnx.metadata.at("weft.model"), "mlp");
  EXPECT_THAT(onnx.metadata.at("weft.data"), HasSubstr("\"kind\":\"images\""));
  const OnnxProgram program = OnnxProgram::make(onnx).value();
  const Array input = Array::full({2, 1, 28, 28}, 100.0);  // pixels
  ASSERT_TRUE(write_npy(path("x.npy"), input.to(DType::kU8)).ok());
  const std::vector<float> want = predict_of(saved, path("x.npy"))->outputs.to_vector<float>();
  const std::vector<float> got = program.run({input}).value()[0].to_vector<float>();
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
  const Bytes weights = read_file(path("model.safetensors"), 1 << 20).value();
  EXPECT_NE(parse_safetensors(weights)->find("fc1.weight"), nullptr);
  request.hugging_face_names = true;
  EXPECT_THAT(export_checkpoint(request, {}).status().message(), HasSubstr("got mlp"));
}

TEST_F(Predict, TokensOfAFileAreFollowedByTheLikeliest) {
  std::vector<std::int32_t> tokens(800);
  for (int i = 0; i < 800; ++i) tokens[i] = i % 9;
  ASSERT_TRUE(write_token_file(path("train.bin"), tokens, 2).ok());
  ASSERT_TRUE(write_token_file(path("val.bin"), tokens, 2).ok());
  for (const std::string& data : {path("train.bin"), folder_}) {
    const std::string saved = checkpoint("data.name = \"tokens\"\ndata.path = \"" + data +
                                         "\"\ndata.vocabulary = 9\ndata.context = 16\n"
                                         "model.name = \"lstm_lm\"\nmodel.hidden_units = 16\n"
                                         "model.embedding_width = 16\nrun.global_batch = 4\n");
    const Array input = Array::from(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}, {2, 3});
    ASSERT_TRUE(write_npy(path("in.npy"), input).ok());
    const Result<Prediction> said = predict_of(saved, path("in.npy"));
    ASSERT_TRUE(said.ok()) << said.status().message();
    EXPECT_THAT(said->text, testing::MatchesRegex("logits \\[2, 3, 9\\]; next:\n0: token .*\n1: "
                                                  "token .*\n"));
    EXPECT_EQ(said->outputs.shape(), (Shape{2, 3, 9}));
  }
}

TEST_F(Predict, RowsOfSeveralAxesAreTakenAsInTraining) {
  std::vector<float> x(40 * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17);
  const Array input = Array::from(x, {40, 3, 4});
  std::filesystem::create_directories(path("xy"));
  ASSERT_TRUE(write_npy(path("xy/x.npy"), input).ok());
  ASSERT_TRUE(write_npy(path("xy/y.npy"), Array::from(std::vector<float>(40, 1), {40})).ok());
  const std::string saved = checkpoint("data.name = \"rows\"\ndata.path = \"" + path("xy") +
                                       "\"\nmodel.name = \"mlp\"\nrun.global_batch = 8\n");
  const Result<Prediction> said = predict_of(saved, path("xy/x.npy"));
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_EQ(said->outputs.shape(), (Shape{40, 1}));
  ASSERT_TRUE(write_npy(path("flat.npy"), input.reshape({40, 12})).ok());
  EXPECT_EQ(predict_of(saved, path("flat.npy"))->outputs.to_vector<float>(),
            said->outputs.to_vector<float>());
  ASSERT_TRUE(write_npy(path("other.npy"), Array::zeros({40, 3, 5})).ok());
  EXPECT_FALSE(predict_of(saved, path("other.npy")).ok());
}

TEST_F(Predict, ExportWithHuggingFaceNamesWritesTheConfiguration) {
  ExportRequest request;
  request.checkpoint = text_checkpoint("llama");
  request.safetensors = path("model.safetensors");
  request.hugging_face_names = true;
  ASSERT_TRUE(export_checkpoint(request, {}).ok());
  const std::string config = to_text(read_file(path("config.json"), 1 << 16).value());
  EXPECT_THAT(config, HasSubstr("\"LlamaForCausalLM\""));
  EXPECT_THAT(config, HasSubstr("\"max_position_embeddings\": 16"));
}

}  // namespace
}  // namespace weft::predict_test
