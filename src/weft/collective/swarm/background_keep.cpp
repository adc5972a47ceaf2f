#include "weft/collective/swarm/background_keep.h"

#include <utility>

namespace weft {

// More than a fast link carries in a second, and little compared with the state itself.
static constexpr std::size_t kWaitingBytesMax = std::size_t{64} << 20;

static TimePoint later() { return SystemClock().now() + std::chrono::minutes(1); }

BackgroundKeep::BackgroundKeep(StateKeep& keep) : keep_(keep) {
  thread_ = Thread([this] { write_all_blocks(); });
}

BackgroundKeep::~BackgroundKeep() {
  box_.with([](Box& box) { box.ended = true; });
  thread_.join();
}

void BackgroundKeep::write_all_blocks() {
  while (true) {
    const auto ready = [](const Box& box) { return box.ended || !box.waiting.empty(); };
    if (!box_.wait_until(later(), ready)) continue;
    std::optional<Block> block = box_.with([](Box& box) -> std::optional<Block> {
      if (box.waiting.empty()) return std::nullopt;
      Block first = std::move(box.waiting.front());
      box.waiting.pop_front();
      box.bytes -= first.body.size();
      box.writing = true;
      return first;
    });
    // What was there when the end came is written still.
    if (!block) return;
    {
      const RoleScope here(keeping_);
      keep_.keep(block->head, block->body);
    }
    box_.with([](Box& box) { box.writing = false; });
  }
}

void BackgroundKeep::settle(bool drop) {
  if (drop) {
    box_.with([](Box& box) {
      box.waiting.clear();
      box.bytes = 0;
    });
  }
  const auto idle = [](const Box& box) { return box.waiting.empty() && !box.writing; };
  while (!box_.wait_until(later(), idle)) {
  }
  keeping_.assert_here();
}

std::optional<SnapshotName> BackgroundKeep::name() {
  settle(false);
  return keep_.name();
}

void BackgroundKeep::begin(const SnapshotName& name) {
  settle(true);
  keep_.begin(name);
}

void BackgroundKeep::keep(const BlockHead& head, ByteSpan body) {
  box_.with([&](Box& box) {
    if (box.bytes + body.size() > kWaitingBytesMax) return;
    box.bytes += body.size();
    box.waiting.push_back({head, Bytes(body.begin(), body.end())});
  });
}

std::optional<StateKeep::Block> BackgroundKeep::next() {
  settle(false);
  return keep_.next();
}

void BackgroundKeep::forget() {
  settle(true);
  keep_.forget();
}

}  // namespace weft
