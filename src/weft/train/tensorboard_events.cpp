#include "weft/train/tensorboard_events.h"

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

void TensorboardEvents::hear(const Event& event) {
  if (event.kind == "round") step_ = event.integer("step");
  for (const Scalar& scalar : kScalars) {
    if (!status_.ok() || event.kind != scalar.kind || event.find(scalar.field) == nullptr) continue;
    const double value = event.number(scalar.field);
    if (!std::isfinite(value)) continue;
    status_ = writer_->scalar(scalar.tag, step_, value, event.unix_time_s);
  }
}

}  // namespace weft
