#include "weft/base/background_writer.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace weft {

// Outlives the BackgroundWriter where the sink does not return.
struct BackgroundWriter::Shared {
  struct Item {
    std::string text;
    // Stands for so many texts that were dropped; then there is no text.
    std::uint64_t lost = 0;
  };

  Shared(Sink given_sink, Options given_options)
      : sink(std::move(given_sink)), options(std::move(given_options)) {}

  void run();
  void write(const Item& item) const;

  const Sink sink;
  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> queue;
  std::size_t bytes = 0;  // of the queue, and of the text that is being written
  bool writing = false;
  std::uint64_t gap = 0;  // texts dropped since the last one that was taken
  std::uint64_t dropped = 0;
  bool closing = false;
  bool ended = false;
};

struct BackgroundWriter::Runner {
  std::thread thread;
  bool complete = true;
};

void BackgroundWriter::Shared::write(const Item& item) const {
  if (item.lost == 0) {
    sink(item.text);
  } else if (options.gap) {
    sink(options.gap(item.lost));
  }
}

void BackgroundWriter::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return closing || !queue.empty(); });
    if (queue.empty()) break;
    const Item item = std::move(queue.front());
    queue.pop_front();
    writing = true;
    lock.unlock();
    write(item);
    lock.lock();
    writing = false;
    bytes -= item.text.size();
    if (gap > 0 && bytes <= options.bytes_max / 2) {
      queue.push_back({{}, std::exchange(gap, 0)});
    }
    changed.notify_all();
  }
  ended = true;
  changed.notify_all();
}

BackgroundWriter::BackgroundWriter(Sink sink, Options options)
    : shared_(std::make_shared<Shared>(std::move(sink), std::move(options))),
      runner_(std::make_unique<Runner>()) {
  runner_->thread = std::thread([shared = shared_] { shared->run(); });
}

BackgroundWriter::~BackgroundWriter() { close(shared_->options.close_limit); }

bool BackgroundWriter::push(std::string text) {
  const std::lock_guard lock(shared_->mutex);
  const bool idle = shared_->queue.empty() && !shared_->writing;
  const bool room = idle || shared_->bytes + text.size() <= shared_->options.bytes_max;
  if (shared_->closing || shared_->gap > 0 || !room) {
    ++shared_->dropped;
    if (!shared_->closing) ++shared_->gap;
    return false;
  }
  shared_->bytes += text.size();
  shared_->queue.push_back({std::move(text), 0});
  shared_->changed.notify_all();
  return true;
}

bool BackgroundWriter::drain(Duration limit) {
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, limit,
                                   [this] { return shared_->queue.empty() && !shared_->writing; });
}

bool BackgroundWriter::close(Duration limit) {
  if (!runner_->thread.joinable()) return runner_->complete;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->closing = true;
    shared_->changed.notify_all();
    runner_->complete = shared_->changed.wait_for(lock, limit, [this] { return shared_->ended; });
  }
  if (runner_->complete) {
    runner_->thread.join();
  } else {
    runner_->thread.detach();
  }
  return runner_->complete;
}

std::uint64_t BackgroundWriter::dropped() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->dropped;
}

void write_fully(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return;
    // Somebody else who shares it has made it non-blocking.
    pollfd one = {descriptor, POLLOUT, 0};
    if (::poll(&one, 1, -1) < 0 && errno != EINTR) return;
  }
}

}  // namespace weft
