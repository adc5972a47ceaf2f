#include "weft/io/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_process.h"
#include "weft/io/safetensors.h"
#include "weft/io/safetensors_digest.h"

namespace weft::checkpoint_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Layout small_layout() {
  Layout layout;
  layout.add("fc.weight", {3, 5});
  layout.add("fc.bias", {3}, ParameterKind::kBias);
  layout.add("norm.running_mean", {7}, ParameterKind::kBuffer);
  return layout;
}

void fill_views(ParameterArena& arena, const Array& buffer, std::uint64_t seed) {
  Rng rng(seed);
  for (int i = 0; i < arena.size(); ++i) {
    Array view = arena.view(buffer, i);
    for (float& value : view.flat<float>()) value = static_cast<float>(rng.normal());
  }
}

ParameterArena filled_arena(std::uint64_t seed = 1) {
  ParameterArena arena(small_layout());
  fill_views(arena, arena.parameter_buffer(), seed);
  fill_views(arena, arena.add_state("mean"), seed + 100);
  fill_views(arena, arena.add_state("variance"), seed + 200);
  return arena;
}

ParameterArena empty_arena() {
  ParameterArena arena(small_layout());
  arena.add_state("mean");
  arena.add_state("variance");
  return arena;
}

CheckpointInfo sample_info() {
  return {.run_id = "00ff",
          .step = 123,
          .recipe = "run.name = \"ünïcode \\\" quote\"\nrun.steps = 5\n",
          .optimizer = "adam",
          .optimizer_steps = 122,
          .shares = "3;7 1000 1 12 3",
          .validation = "3fe0000000000000 7 2"};
}

std::vector<float> values_of(const Array& array) { return array.to_vector<float>(); }

bool equal_arenas(const ParameterArena& a, const ParameterArena& b) {
  bool equal = values_of(a.parameter_buffer()) == values_of(b.parameter_buffer());
  for (const std::string& name : a.state_names()) {
    equal = equal && values_of(a.state(name)) == values_of(b.state(name));
  }
  return equal && a.state_names() == b.state_names();
}

// A folder of its own for a test, removed at its end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("weft_") +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_.string(); }
  void touch(const std::string& name) const { std::ofstream(path_ / name) << "x"; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(path_)) {
      names.push_back(file.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

// With -Wextra, which asks for a value of every member that has none of its own.
TEST(Checkpoint, InfoNeedsOnlyTheFieldsThatMatter) {
  const Bytes bytes = serialise_state(filled_arena(), {.step = 60});
  EXPECT_EQ(read_state_info(bytes)->step, 60);
}

TEST(Checkpoint, StateSurvivesARoundTripThroughBytes) {
  const ParameterArena arena = filled_arena();
  const Bytes bytes = serialise_state(arena, sample_info());
  ParameterArena loaded = empty_arena();
  const Result<CheckpointInfo> info = load_state(bytes, loaded);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(*info, sample_info());
  EXPECT_TRUE(equal_arenas(arena, loaded));
  EXPECT_EQ(*read_state_info(bytes), sample_info());
}

TEST(Checkpoint, EqualStatesGiveEqualBytes) {
  EXPECT_EQ(serialise_state(filled_arena(), sample_info()),
            serialise_state(filled_arena(), sample_info()));
  EXPECT_NE(serialise_state(filled_arena(1), sample_info()),
            serialise_state(filled_arena(2), sample_info()));
}

TEST(Checkpoint, TensorsAreReadableByName) {
  const ParameterArena arena = filled_arena();
  const Bytes bytes = serialise_state(arena, sample_info());
  const Result<SafetensorsView> view = parse_safetensors(bytes);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(values_of(*to_array(*view->find("fc.bias"))), values_of(arena.parameter(1)));
  EXPECT_EQ(values_of(*to_array(*view->find("optimizer/variance/fc.weight"))),
            values_of(arena.view(arena.state("variance"), 0)));
}

TEST(Checkpoint, TruncationAtAnyByteIsCorruptAndChangesNothing) {
  const Bytes bytes = serialise_state(filled_arena(), sample_info());
  ParameterArena arena = empty_arena();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<CheckpointInfo> info = load_state(ByteSpan(bytes).first(size), arena);
    ASSERT_FALSE(info.ok()) << size;
    ASSERT_EQ(info.status().code(), Code::kCorrupt) << size;
  }
  EXPECT_TRUE(equal_arenas(arena, empty_arena()));
}

TEST(Checkpoint, AnotherModelIsRefusedAndChangesNothing) {
  const Bytes bytes = serialise_state(filled_arena(), sample_info());
  const auto refusal = [&](Layout layout) {
    ParameterArena arena(std::move(layout));
    arena.add_state("mean");
    arena.add_state("variance");
    const Result<CheckpointInfo> info = load_state(bytes, arena);
    EXPECT_EQ(info.status().code(), Code::kInvalidArgument);
    EXPECT_TRUE(std::all_of(arena.parameters().begin(), arena.parameters().end(),
                            [](float value) { return value == 0.0F; }));
    return info.status().message();
  };
  Layout other_shape;
  other_shape.add("fc.weight", {5, 3});
  other_shape.add("fc.bias", {3}, ParameterKind::kBias);
  other_shape.add("norm.running_mean", {7}, ParameterKind::kBuffer);
  EXPECT_THAT(refusal(other_shape), HasSubstr("fc.weight: expected F32 [5, 3], got F32 [3, 5]"));
  Layout fewer;
  fewer.add("fc.weight", {3, 5});
  EXPECT_THAT(refusal(fewer), HasSubstr("expected 3 tensors, got 9"));
  Layout more = small_layout();
  more.add("extra", {1});
  EXPECT_THAT(refusal(more), HasSubstr("expected a tensor extra, got none"));
  Layout other_kind;
  other_kind.add("fc.weight", {3, 5});
  other_kind.add("fc.bias", {3}, ParameterKind::kBias);
  other_kind.add("norm.running_mean", {7}, ParameterKind::kNorm);
  EXPECT_THAT(refusal(other_kind), HasSubstr("expected the layout"));
}

TEST(Checkpoint, AnotherOptimizersStateIsRefusedUnlessOnlyParametersAreAskedFor) {
  const Bytes bytes = serialise_state(filled_arena(), sample_info());
  ParameterArena momentum(small_layout());
  momentum.add_state("momentum");
  EXPECT_EQ(load_state(bytes, momentum).status().code(), Code::kInvalidArgument);
  ParameterArena none(small_layout());
  EXPECT_EQ(load_state(bytes, none).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(load_state(bytes, none, LoadState::kParameters).ok());
  EXPECT_EQ(values_of(none.parameter_buffer()), values_of(filled_arena().parameter_buffer()));
  ASSERT_TRUE(load_state(bytes, momentum, LoadState::kParameters).ok());
  EXPECT_EQ(values_of(momentum.state("momentum")),
            std::vector<float>(static_cast<std::size_t>(small_layout().num_elements()), 0.0F));
}

TEST(Checkpoint, MetadataThatIsMissingOrWrongIsCorrupt) {
  const auto refusal = [](const SafetensorsMetadata& metadata) {
    const Result<CheckpointInfo> info = read_state_info(write_safetensors({}, metadata));
    EXPECT_EQ(info.status().code(), Code::kCorrupt);
    return info.status().message();
  };
  SafetensorsMetadata metadata = {{"format", "weft checkpoint 1"},
                                  {"run_id", ""},
                                  {"step", "1"},
                                  {"recipe", ""},
                                  {"optimizer", ""},
                                  {"optimizer_steps", "1"}};
  const Result<CheckpointInfo> old = read_state_info(write_safetensors({}, metadata));
  ASSERT_TRUE(old.ok());
  EXPECT_FALSE(old->has_digests);
  EXPECT_THAT(refusal({}), HasSubstr("expected metadata format"));
  for (const char* const count : {"", "-1", "1x", "99999999999999999999", " 1"}) {
    metadata["step"] = count;
    EXPECT_THAT(refusal(metadata), HasSubstr("expected a count as step"));
  }
  metadata["format"] = "weft checkpoint 2";
  EXPECT_THAT(refusal(metadata), HasSubstr("the header: expected a digest of it, got none"));
  metadata["format"] = "weft checkpoint 3";
  EXPECT_THAT(refusal(metadata), HasSubstr("expected format \"weft checkpoint 2\""));
}

TEST(Checkpoint, AnAlteredByteAnywhereIsNoticedAndChangesNothing) {
  const Bytes bytes = serialise_state(filled_arena(), sample_info());
  const std::size_t data_bytes = std::size_t{3} * (15 + 3 + 7) * sizeof(float);
  ParameterArena arena = empty_arena();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned change : {0x01U, 0x40U, 0xffU}) {
      Bytes altered = bytes;
      altered[at] = static_cast<std::uint8_t>(altered[at] ^ change);
      const Result<CheckpointInfo> info = load_state(altered, arena);
      ASSERT_EQ(info.status().code(), Code::kCorrupt) << "byte " << at << " ^ " << change;
      // Also by readers that do not ask whether it is a checkpoint.
      const Result<SafetensorsView> view = parse_safetensors(altered);
      ASSERT_FALSE(view.ok() && check_digests(altered, *view).ok()) << at << " ^ " << change;
      if (at + data_bytes < bytes.size()) {
        // Also seen where the header alone is read, before anything is built from it.
        ASSERT_EQ(read_state_info(altered).status().code(), Code::kCorrupt) << at;
      } else {
        ASSERT_THAT(info.status().message(), HasSubstr("the file was altered")) << at;
      }
    }
  }
  EXPECT_TRUE(equal_arenas(arena, empty_arena()));
}

TEST(Checkpoint, DamageIsToldWithPathTensorReasonAndRemedy) {
  const Folder folder;
  const std::string path = checkpoint_path(folder.path(), 7);
  Bytes bytes = serialise_state(filled_arena(), sample_info());
  bytes[bytes.size() - 4 * 7 - 1] ^= 0x10U;  // the last value before optimizer/variance's buffer
  ASSERT_TRUE(write_file_atomically(path, bytes).ok());
  ParameterArena arena = empty_arena();
  const Status damage = load_state(open_checkpoint(path)->bytes, arena).status();
  EXPECT_THAT(damaged_checkpoint(path, damage).message(),
              testing::AllOf(HasSubstr(path + ": safetensors: optimizer/variance/fc.bias: expected "
                                              "the digest "),
                             HasSubstr(": the file was altered after it was written"),
                             HasSubstr("; the file is damaged: take an older checkpoint")));
  bytes[bytes.size() / 4] ^= 0x01U;  // within the header
  ASSERT_TRUE(write_file_atomically(path, bytes).ok());
  const Result<CheckpointFile> file = open_checkpoint(path);
  EXPECT_EQ(file.status().code(), Code::kCorrupt);
  EXPECT_THAT(file.status().message(), testing::StartsWith(path + ": "));
}

// The same tensors and metadata without digests, as older releases wrote them.
Bytes old_form(const Bytes& bytes, const std::string& format) {
  const SafetensorsView view = *parse_safetensors(bytes);
  std::vector<SafetensorsTensor> tensors;
  for (const SafetensorsEntry& entry : view.entries) {
    tensors.push_back({entry.name, DType::kF32, entry.shape, entry.values});
  }
  SafetensorsMetadata metadata = view.metadata;
  std::erase_if(metadata, [](const auto& item) {
    return item.first == "header_sha256" || item.first.starts_with("xxh3_128/");
  });
  metadata["format"] = format;
  return write_safetensors(tensors, metadata);
}

TEST(Checkpoint, FilesOfOlderReleasesAreLoadedAndSaidToHaveNoDigests) {
  const ParameterArena arena = filled_arena();
  const Bytes bytes = serialise_state(arena, sample_info());
  ParameterArena loaded = empty_arena();
  const Result<CheckpointInfo> info = load_state(old_form(bytes, "weft checkpoint 1"), loaded);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_FALSE(info->has_digests);
  EXPECT_TRUE(equal_arenas(arena, loaded));
  // A present one from which they were taken away is none of those.
  EXPECT_EQ(read_state_info(old_form(bytes, "weft checkpoint 2")).status().code(), Code::kCorrupt);
}

TEST(Checkpoint, ValuesThatAreNoFiniteNumbersAreNamed) {
  EXPECT_TRUE(check_finite(serialise_state(filled_arena(), sample_info())).ok());
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    ParameterArena arena = filled_arena();
    arena.view(arena.state("mean"), 1).flat<float>()[2] = bad;
    const Status found = check_finite(serialise_state(arena, sample_info()));
    EXPECT_EQ(found.code(), Code::kCorrupt);
    EXPECT_THAT(found.message(), HasSubstr("optimizer/mean/fc.bias: expected finite numbers"));
  }
}

TEST(Checkpoint, FileHasTheSameBytesAsTheMemoryForm) {
  const Folder folder;
  const std::string path = checkpoint_path(folder.path(), 123);
  const ParameterArena arena = filled_arena();
  ASSERT_TRUE(save_checkpoint(path, arena, sample_info()).ok());
  const Result<CheckpointFile> file = open_checkpoint(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->bytes, serialise_state(arena, sample_info()));
  EXPECT_EQ(file->info, sample_info());
  EXPECT_THAT(folder.names(), ElementsAre("checkpoint-123.safetensors"));
}

TEST(Checkpoint, InterruptedOrFailedWriteKeepsTheOldFile) {
  const Folder folder;
  const std::string path = checkpoint_path(folder.path(), 1);
  ASSERT_TRUE(save_checkpoint(path, filled_arena(1), sample_info()).ok());
  const Bytes before = *read_checkpoint(path);
  // What a process that was killed while it wrote leaves behind: a part under another name.
  const Bytes next = serialise_state(filled_arena(2), sample_info());
  std::ofstream(fmt::format("{}.tmp{}-1", path, ended_process()), std::ios::binary)
      .write(reinterpret_cast<const char*>(next.data()),
             static_cast<std::streamsize>(next.size() / 2));
  EXPECT_EQ(*read_checkpoint(path), before);
  EXPECT_THAT(list_checkpoints(folder.path()), ElementsAre(path));
  ASSERT_TRUE(prune_checkpoints(folder.path(), 1).ok());
  EXPECT_THAT(folder.names(), ElementsAre("checkpoint-1.safetensors"));
  // A name that a folder has taken cannot be replaced; nothing is left beside it.
  const std::string taken = checkpoint_path(folder.path(), 2);
  std::filesystem::create_directories(taken + "/inside");
  EXPECT_EQ(save_checkpoint(taken, filled_arena(2), sample_info()).code(), Code::kUnavailable);
  EXPECT_THAT(folder.names(), ElementsAre("checkpoint-1.safetensors", "checkpoint-2.safetensors"));
  EXPECT_EQ(save_checkpoint(folder.path() + "/missing/c", filled_arena(), sample_info()).code(),
            Code::kUnavailable);
}

TEST(Checkpoint, PruningKeepsTheNewestStepsAndForeignFiles) {
  const Folder folder;
  const std::string at_work = fmt::format("checkpoint-9.safetensors.tmp{}-1", ::getppid());
  const std::string stale = fmt::format("checkpoint-9.safetensors.tmp{}-1", ended_process());
  for (const std::string& name :
       {std::string("checkpoint-9.safetensors"), std::string("checkpoint-10.safetensors"),
        std::string("checkpoint-200.safetensors"), std::string("checkpoint-x.safetensors"),
        std::string("summary.json"), at_work, stale}) {
    folder.touch(name);
  }
  EXPECT_THAT(list_checkpoints(folder.path()),
              ElementsAre(checkpoint_path(folder.path(), 9), checkpoint_path(folder.path(), 10),
                          checkpoint_path(folder.path(), 200)));
  ASSERT_TRUE(prune_checkpoints(folder.path(), 2).ok());
  EXPECT_THAT(folder.names(), ElementsAre("checkpoint-10.safetensors", "checkpoint-200.safetensors",
                                          at_work, "checkpoint-x.safetensors", "summary.json"));
  EXPECT_TRUE(list_checkpoints(folder.path() + "/none").empty());
  EXPECT_TRUE(prune_checkpoints(folder.path() + "/none", 1).ok());
}

}  // namespace
}  // namespace weft::checkpoint_test
