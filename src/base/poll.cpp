#include "base/poll.h"

#include <utility>

namespace skipstone {
namespace {

Poll*& innermost() noexcept {
  thread_local Poll* poll = nullptr;
  return poll;
}

}  // namespace

Poll::Poll(std::function<void()> ask) : ask_(std::move(ask)), outer_(std::exchange(innermost(), this)) {}

Poll::~Poll() { innermost() = outer_; }

Poll* Poll::current() noexcept {
  Poll* poll = innermost();
  return poll == nullptr || !poll->ask_ ? nullptr : poll;
}

void Poll::ask() {
  done_ = 0;
  // Work within the callback is not the work that it polls for.
  const Poll none({});
  ask_();
}

}  // namespace skipstone
