#include "weft/train/event/tensorboard_events.h"

#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/file.h"
#include "weft/io/protobuf_reader.h"

namespace weft::tensorboard_events_test {
namespace {

// "tag step value" of each scalar of an event file, whose checksums
// io/tensorboard/tensorboard_test.cpp checks.
std::vector<std::string> scalars_of(const std::string& path) {
  const Bytes file = read_file(path, 1 << 16).value();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t size = file[at] | static_cast<std::size_t>(file[at + 1]) << 8U;
    ProtobufReader event(ByteSpan(file).subspan(at + 12, size));
    at += size + 16;
    std::int64_t step = 0;
    while (!event.done()) {
      const ProtobufField field = event.next().value();
      if (field.number == 2) step = field.integer().value();
      if (field.number != 5) continue;
      ProtobufReader summary(field.bytes);
      ProtobufReader value(summary.next()->bytes);
      const std::string tag = value.next()->text(100).value();
      lines.push_back(tag + " " + std::to_string(step) + " " +
                      std::to_string(value.next()->float32().value()));
    }
  }
  return lines;
}

TEST(TensorboardEvents, WritesTheNumbersOfRoundsAndEvaluations) {
  const std::string folder = testing::TempDir() + "weft_tensorboard_events";
  std::filesystem::remove_all(folder);
  const auto events = TensorboardEvents::open(folder, 1).value();
  events->hear(Event("round")
                   .with("round", 4)
                   .with("step", 5)
                   .with("loss", 0.5)
                   .with("accuracy", std::numeric_limits<double>::quiet_NaN())
                   .with("members", 3));
  events->hear(Event("note").with("text", "nothing to draw"));
  events->hear(Event("evaluation").with("accuracy", 0.25).with("loss", 2.0));
  ASSERT_TRUE(events->close(std::chrono::seconds(30)).ok());
  EXPECT_THAT(scalars_of(events->path()),
              testing::ElementsAre("train/loss 5 0.500000", "group/members 5 3.000000",
                                   "test/loss 5 2.000000", "test/accuracy 5 0.250000"));
}

}  // namespace
}  // namespace weft::tensorboard_events_test
