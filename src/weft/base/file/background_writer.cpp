#include "weft/base/background_writer.h"

#include <cerrno>
#include <deque>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "weft/base/thread_safety.h"

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

  void run() WEFT_EXCLUDES(mutex);
  void write(const Item& item) const WEFT_EXCLUDES(mutex);
  bool idle() const WEFT_REQUIRES(mutex) { return queue.empty() && !writing; }

  const Sink sink;
  const Options options;
  mutable Mutex mutex;
  Condition changed;
  std::deque<Item> queue WEFT_GUARDED_BY(mutex);
  // The queue's, and those of the text that is being written.
  std::size_t bytes WEFT_GUARDED_BY(mutex) = 0;
  bool writing WEFT_GUARDED_BY(mutex) = false;
  // Texts dropped since the last one that was taken.
  std::uint64_t gap WEFT_GUARDED_BY(mutex) = 0;
  std::uint64_t dropped WEFT_GUARDED_BY(mutex) = 0;
  bool closing WEFT_GUARDED_BY(mutex) = false;
  bool ended WEFT_GUARDED_BY(mutex) = false;
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
  MutexLock lock(mutex);
  for (;;) {
    while (!closing && queue.empty()) changed.wait(mutex);
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
  Shared& shared = *shared_;
  const MutexLock lock(shared.mutex);
  const bool room = shared.idle() || shared.bytes + text.size() <= shared.options.bytes_max;
  if (shared.closing || shared.gap > 0 || !room) {
    ++shared.dropped;
    if (!shared.closing) ++shared.gap;
    return false;
  }
  shared.bytes += text.size();
  shared.queue.push_back({std::move(text), 0});
  shared.changed.notify_all();
  return true;
}

bool BackgroundWriter::drain(Duration limit) {
  Shared& shared = *shared_;
  const TimePoint deadline = SystemClock().now() + limit;
  const MutexLock lock(shared.mutex);
  while (!shared.idle()) {
    if (!shared.changed.wait_until(shared.mutex, deadline)) break;
  }
  return shared.idle();
}

bool BackgroundWriter::close(Duration limit) {
  if (!runner_->thread.joinable()) return runner_->complete;
  {
    Shared& shared = *shared_;
    const TimePoint deadline = SystemClock().now() + limit;
    const MutexLock lock(shared.mutex);
    shared.closing = true;
    shared.changed.notify_all();
    while (!shared.ended) {
      if (!shared.changed.wait_until(shared.mutex, deadline)) break;
    }
    runner_->complete = shared.ended;
  }
  if (runner_->complete) {
    runner_->thread.join();
  } else {
    runner_->thread.detach();
  }
  return runner_->complete;
}

std::uint64_t BackgroundWriter::dropped() const {
  const MutexLock lock(shared_->mutex);
  return shared_->dropped;
}

int write_fully(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) return ENOSPC;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return errno;
    // Somebody else who shares it has made it non-blocking.
    pollfd one = {descriptor, POLLOUT, 0};
    if (::poll(&one, 1, -1) < 0 && errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace weft
