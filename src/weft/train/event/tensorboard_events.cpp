#include "weft/train/event/tensorboard_events.h"

#include <cmath>

namespace weft {
namespace {

struct Scalar {
  std::string_view kind;
  const char* field;
  const char* tag;
};
constexpr Scalar kScalars[] = {
    {"round", "loss", "train/loss"},
    {"round", "accuracy", "train/accuracy"},
    {"round", "bits_per_character", "train/bits_per_character"},
    {"round", "learning_rate", "train/learning_rate"},
    {"round", "samples_per_second", "speed/samples_per_second"},
    {"round", "round_seconds", "speed/round_seconds"},
    {"round", "compute_share", "speed/compute_share"},
    {"round", "members", "group/members"},
    {"round", "mixed", "group/mixed_neighbours"},
    {"round", "distance", "group/distance"},
    {"validation", "loss", "test/loss"},
    {"validation", "accuracy", "test/accuracy"},
    {"validation", "bits_per_character", "test/bits_per_character"},
    {"evaluation", "loss", "test/loss"},
    {"evaluation", "accuracy", "test/accuracy"},
    {"evaluation", "bits_per_character", "test/bits_per_character"},
};

}  // namespace

Result<std::unique_ptr<TensorboardEvents>> TensorboardEvents::open(const std::string& folder,
                                                                   std::int64_t unix_time_s) {
  WEFT_TRY_ASSIGN(auto writer, TensorboardWriter::open(folder, unix_time_s));
  std::unique_ptr<TensorboardEvents> events;
  events.reset(new TensorboardEvents(std::move(writer)));  // tidy: allow new: private constructor
  return events;
}

TensorboardEvents::TensorboardEvents(std::unique_ptr<TensorboardWriter> writer) {
  file_->writer = std::move(writer);
  background_ = std::make_unique<BackgroundWriter>(
      [file = file_](std::string_view record) {
        const Status written = file->writer->append(as_bytes(record));
        if (written.ok()) return;
        file->first_failure.with([&](Status& first) {
          if (first.ok()) first = written;
        });
      },
      BackgroundWriter::Options());
}

void TensorboardEvents::hear(const Event& event) {
  // A measurement in the midst of a run is of the step that it names.
  if (event.kind == "round" || event.kind == "validation") step_ = event.integer("step");
  for (const Scalar& scalar : kScalars) {
    if (event.kind != scalar.kind || event.find(scalar.field) == nullptr) continue;
    const double value = event.number(scalar.field);
    if (!std::isfinite(value)) continue;
    const Bytes record = tensorboard_scalar(scalar.tag, step_, value, event.unix_time_s);
    background_->push(std::string(record.begin(), record.end()));
  }
}

Status TensorboardEvents::close(Duration limit) {
  if (!background_->close(limit)) return unavailable(path() + ": the disk does not answer");
  if (background_->dropped() > 0) return unavailable(path() + ": the disk was too slow for it");
  return file_->first_failure.with([](const Status& first) { return first; });
}

}  // namespace weft
