#include "weft/net/event_loop.h"

#include <utility>

#include <asio/post.hpp>
#include <sched.h>
#include <unistd.h>

#include "weft/net/stream/loop_impl.h"

namespace weft {

namespace {

// With pollers an idle loop first spins (a partner on another core answers within a
// microsecond), then offers its core to whoever wants it, and only then sleeps, which costs the
// partner a system call to wake it.
constexpr int kSpinTurns = 32;
constexpr Duration kYieldFor = std::chrono::microseconds(150);
// How many turns with or without work may pass before sockets and timers are looked at.
constexpr int kTurnsBetweenSystemPolls = 16;

// Tells the processor that this thread spins.
void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

bool EventLoop::Impl::poll_all() {
  bool progress = false;
  for (std::size_t i = 0; i < pollers.size(); ++i) progress |= pollers[i]->poll();
  return progress;
}

void EventLoop::Impl::wait(TimePoint deadline) {
  std::size_t asked = 0;
  bool quiet = true;
  while (asked < pollers.size() && quiet) quiet = pollers[asked++]->prepare_sleep();
  if (quiet) context.run_one_until(deadline);
  for (std::size_t i = 0; i < asked && i < pollers.size(); ++i) pollers[i]->end_sleep();
  idle_turns_ = 0;
}

// Two pollers a partner. Where there are more processes than cores, whoever spins keeps those off
// for whom it waits.
int EventLoop::Impl::spin_turns() const {
  static const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<long>(pollers.size()) < 2 * cores ? kSpinTurns : 0;
}

void EventLoop::Impl::step(TimePoint deadline) {
  if (pollers.empty()) {
    if (deadline == TimePoint::max()) {
      context.run_one();
    } else {
      context.run_one_until(deadline);
    }
    return;
  }
  if (poll_all()) {
    idle_turns_ = 0;
    if (++busy_turns_ % kTurnsBetweenSystemPolls == 0) context.poll();
    return;
  }
  if (idle_turns_++ == 0) idle_since_ = clock.now();
  if (idle_turns_ <= spin_turns()) {
    pause_processor();
    return;
  }
  if (idle_turns_ % kTurnsBetweenSystemPolls == 0 && context.poll() > 0) return;
  if (clock.now() - idle_since_ < kYieldFor) {
    sched_yield();
    return;
  }
  wait(std::min(deadline, clock.now() + std::chrono::hours(1)));
}

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  const RoleScope here(thread_);
  while (!impl_->stopped) impl_->step(TimePoint::max());
  impl_->stopped = false;
}

void EventLoop::run_for(Duration limit) {
  static_cast<void>(run_until([] { return false; }, limit));
}

bool EventLoop::run_until(const std::function<bool()>& done, Duration limit) {
  const RoleScope here(thread_);
  const TimePoint deadline = now() + limit;
  while (!done()) {
    if (impl_->stopped) {
      impl_->stopped = false;
      return false;
    }
    if (now() >= deadline) return false;
    impl_->step(deadline);
  }
  return true;
}

void EventLoop::stop() {
  post([this]() WEFT_REQUIRES(thread_) { impl_->stopped = true; });
}

// The one thing in Impl for which asio has a lock of its own.
void EventLoop::post(std::function<void()> handler) WEFT_NO_THREAD_SAFETY_ANALYSIS {
  asio::post(impl_->context, std::move(handler));
}

TimerId EventLoop::call_at(TimePoint when, std::function<void()> handler) {
  thread_.assert_here();
  const TimerId id = impl_->last_timer = impl_->last_timer.next();
  auto timer = std::make_unique<asio::steady_timer>(impl_->context, when);
  timer->async_wait([this, id, handler = std::move(handler)](const asio::error_code& error)
                        WEFT_REQUIRES(thread_) {
                          // A cancelled timer may already have been queued as expired.
                          if (error || impl_->timers.erase(id) == 0) return;
                          handler();
                        });
  impl_->timers.emplace(id, std::move(timer));
  return id;
}

void EventLoop::cancel(TimerId timer) {
  thread_.assert_here();
  impl_->timers.erase(timer);
}

}  // namespace weft
