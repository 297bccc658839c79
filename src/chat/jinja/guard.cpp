#include "chat/jinja/guard.h"

#include <algorithm>

#include "base/poll.h"
#include "base/status.h"

namespace skipstone::chat::jinja {

namespace {

constexpr std::uint64_t steps_between_looks = 2048;

}  // namespace

void Guard::look_again() { next_poll_ = std::min(limits_.steps, steps_ + steps_between_looks); }

void Guard::poll_now() {
  if (steps_ <= limits_.steps) {
    poll(Poll::period);
    return look_again();
  }
  fail(Code::invalid_argument, "the template takes more than {} steps; no conversation of this size needs them", limits_.steps);
}

void Guard::fail_memory(std::size_t bytes) {
  live_ -= bytes;
  fail(Code::invalid_argument, "the template's values take more than {} MiB of memory", limits_.live_bytes >> 20U);
}

void Guard::fail_depth() {
  --depth_;
  fail(Code::invalid_argument, "the template nests more than {} levels deep; a macro may be calling itself without end", limits_.depth);
}

}  // namespace skipstone::chat::jinja
