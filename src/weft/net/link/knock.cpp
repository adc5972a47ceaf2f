#include "weft/net/link/knock.h"

#include <utility>

namespace weft {

namespace {

// Between two knocks of one that insists: a refusal comes back in a round trip.
constexpr Duration kKnockPause = std::chrono::milliseconds(50);

}  // namespace

Knock::Knock(EventLoop& loop, Plan plan, Done done)
    : loop_(loop), plan_(std::move(plan)), done_(std::move(done)) {}

void Knock::start() {
  deadline_ = loop_.now() + plan_.limit;
  loop_.post([self = shared_from_this()] { self->attempt(); });
}

void Knock::abandon() {
  over_ = true;
  loop_.cancel(timer_);
  connecting_.reset();
  done_ = nullptr;
}

void Knock::set_timer(TimePoint when, std::function<void()> body) {
  loop_.cancel(timer_);
  timer_ = loop_.call_at(when, [self = shared_from_this(), body = std::move(body)] {
    if (!self->over_) body();
  });
}

void Knock::attempt() {
  if (over_) return;
  Result<Socket> socket = begin_connect(plan_.address, plan_.local_port);
  if (!socket.ok() && plan_.local_port != 0 && !plan_.insists) {
    socket = begin_connect(plan_.address);
  }
  if (!socket.ok()) return again_or_fail(socket.status());
  connecting_ =
      std::make_unique<asio::posix::stream_descriptor>(loop_.impl().context, socket->release());
  set_timer(deadline_, [this] { finish(timed_out("no answer")); });
  connecting_->async_wait(asio::posix::stream_descriptor::wait_write,
                          [self = shared_from_this()](const asio::error_code& error) {
                            if (!error && !self->over_ && self->connecting_ != nullptr) {
                              self->on_writable();
                            }
                          });
}

void Knock::on_writable() {
  Socket socket(connecting_->release());
  connecting_.reset();
  const Status outcome = connect_outcome(socket.get());
  if (!outcome.ok()) return again_or_fail(outcome);
  finish(std::move(socket));
}

void Knock::again_or_fail(const Status& why) {
  if (!plan_.insists || loop_.now() + kKnockPause >= deadline_) return finish(why);
  set_timer(loop_.now() + kKnockPause, [this] { attempt(); });
}

void Knock::finish(Result<Socket> result) {
  const Done done = std::move(done_);
  const std::shared_ptr<Knock> self = shared_from_this();
  abandon();
  if (done) done(std::move(result));
}

}  // namespace weft
