#include "weft/serve/model/model_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/base/parallel.h"
#include "weft/serve/model/text_generator.h"

namespace weft {
namespace {

constexpr Duration kPollInterval = std::chrono::seconds(1);
constexpr std::size_t kAnswersMax = 4096;

std::int64_t rows_of(const Job& job) { return std::get<Array>(job.work).dim(0); }

// The rows of all jobs one below another.
Array concatenated(const std::vector<Job>& batch) {
  if (batch.size() == 1) return std::get<Array>(batch.front().work);
  Shape shape = std::get<Array>(batch.front().work).shape();
  shape[0] = 0;
  for (const Job& job : batch) shape[0] += rows_of(job);
  Array all = Array::empty(shape);
  float* out = all.data<float>();
  for (const Job& job : batch) {
    const std::span<const float> values = std::get<Array>(job.work).flat<float>();
    out = std::copy(values.begin(), values.end(), out);
  }
  return all;
}

}  // namespace

ModelThread::ModelThread(ServedModel& model, const ModelThreadOptions& options,
                         std::function<void()> wake)
    : model_(model),
      options_(options),
      wake_(std::move(wake)),
      jobs_(options.queue_max),
      answers_(kAnswersMax),
      thread_([this] { run(); }) {}

ModelThread::~ModelThread() {
  over_.store(true);
  jobs_.close();
  answers_.close();
}

std::optional<JobAnswer> ModelThread::take() {
  std::optional<JobAnswer> answer = answers_.try_pop();
  if (answer.has_value()) return answer;
  // Whoever adds one from here on wakes again; one that was added just before is taken now.
  woken_.store(false);
  return answers_.try_pop();
}

void ModelThread::answer(JobAnswer answer) {
  // Waits while the other side is behind.
  static_cast<void>(answers_.push(std::move(answer), clock_.now() + std::chrono::hours(1)));
  if (!woken_.exchange(true)) wake_();
}

void ModelThread::run() {
  set_thread_count(options_.threads);  // OpenMP counts for each thread that asks
  if (model_.is_text()) {
    run_texts();
  } else {
    run_rows();
  }
}

void ModelThread::run_rows() {
  while (!over_.load()) {
    std::optional<Job> first = std::exchange(held_, std::nullopt);
    if (!first.has_value()) first = jobs_.pop(clock_.now() + kPollInterval);
    if (first.has_value()) compute_rows(gather_rows(std::move(*first)));
    if (!first.has_value() && jobs_.closed()) return;
  }
}

std::vector<Job> ModelThread::gather_rows(Job first) {
  const TimePoint deadline = clock_.now() + options_.batch_wait;
  std::vector<Job> batch;
  std::int64_t rows = rows_of(first);
  batch.push_back(std::move(first));
  while (rows < options_.batch_max) {
    std::optional<Job> next = jobs_.try_pop();
    if (!next.has_value() && options_.batch_wait > Duration::zero()) next = jobs_.pop(deadline);
    if (!next.has_value()) break;
    if (rows + rows_of(*next) > options_.batch_max) {
      held_ = std::move(next);
      break;
    }
    rows += rows_of(*next);
    batch.push_back(std::move(*next));
  }
  std::erase_if(batch, [](const Job& job) { return job.cancelled->load(); });
  return batch;
}

Result<PredictOutputs> ModelThread::predict_in_parts(const Array& rows) {
  if (rows.dim(0) <= options_.batch_max) return model_.predict(rows);
  PredictOutputs all;
  for (const Array& part : rows.split(options_.batch_max)) {
    WEFT_TRY_ASSIGN(const PredictOutputs outputs, model_.predict(part));
    all.rows += outputs.rows;
    all.columns = outputs.columns;
    all.values.insert(all.values.end(), outputs.values.begin(), outputs.values.end());
  }
  return all;
}

void ModelThread::compute_rows(const std::vector<Job>& batch) {
  if (batch.empty()) return;
  const Array rows = concatenated(batch);
  const Result<PredictOutputs> outputs = predict_in_parts(rows);
  auto begin = outputs.ok() ? outputs->values.begin() : std::vector<float>::const_iterator();
  std::int64_t batch_rows = rows.dim(0);
  for (const Job& job : batch) {
    JobAnswer told{job.id, outputs.status(), std::exchange(batch_rows, 0)};
    if (outputs.ok()) {
      const auto end = begin + static_cast<std::ptrdiff_t>(rows_of(job) * outputs->columns);
      told.result = PredictOutputs{rows_of(job), outputs->columns, {begin, end}};
      begin = end;
    }
    answer(std::move(told));
  }
}

void ModelThread::run_texts() {
  const PreparedWeights::Use use(model_.prepared_weights());
  TextGenerator generator(model_.language_model(), model_.tokenizer(),
                          static_cast<std::size_t>(options_.batch_max));
  const TextGenerator::Sink sink = [this](JobAnswer told) { answer(std::move(told)); };
  while (!over_.load()) {
    std::optional<Job> job;
    if (generator.active() == 0) {
      job = jobs_.pop(clock_.now() + kPollInterval);
      if (!job.has_value() && jobs_.closed()) return;
    }
    while (static_cast<std::int64_t>(generator.active()) < options_.batch_max) {
      if (!job.has_value()) job = jobs_.try_pop();
      if (!job.has_value()) break;
      generator.add(job->id, std::get<CompletionRequest>(std::move(job->work)), job->cancelled);
      job.reset();
    }
    generator.step(sink);
  }
}

}  // namespace weft
