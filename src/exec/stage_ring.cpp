#include "exec/stage_ring.h"

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "exec/stage_request.h"

namespace skipstone::exec {
namespace {

/// Limit of posted messages in flight: enough that each of a few stages has one to work on.
constexpr std::uint32_t most_posted = 4;

[[noreturn]] void throw_from(const StageMessage& message) {
  throw Error(message.code, std::string(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()));
}

}  // namespace

StageRing::~StageRing() {
  try {
    const std::lock_guard lock(mutex_);
    out_.send({.command = StageCommand::end, .request = {}, .rows = {}, .cosines = {}, .bytes = {}});
    while (in_.receive().command != StageCommand::end) {
    }
  } catch (const std::exception& error) {
    log::info("the stages did not end in order: {}", error.what());
  }
}

StageMessage StageRing::exchange(StageMessage message, const std::function<void()>& meanwhile) {
  const std::lock_guard lock(mutex_);
  return exchange_alone(std::move(message), meanwhile);
}

std::optional<StageMessage> StageRing::try_exchange(StageMessage message) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  while (posted_ > 0 && in_.ready()) drain(posted_ - 1);
  if (posted_ > 0) return std::nullopt;
  return exchange_alone(std::move(message), {});
}

/// Called with the lock.
StageMessage StageRing::exchange_alone(StageMessage message, const std::function<void()>& meanwhile) {
  throw_failure();
  out_.send(std::move(message));
  drain(0);
  if (meanwhile) meanwhile();
  StageMessage reply = in_.receive();
  throw_failure();
  if (reply.command == StageCommand::failed) throw_from(reply);
  return reply;
}

void StageRing::post(StageMessage message) {
  const std::lock_guard lock(mutex_);
  throw_failure();
  out_.send(std::move(message));
  ++posted_;
  drain(most_posted);
  throw_failure();
}

void StageRing::wait() {
  const std::lock_guard lock(mutex_);
  drain(0);
  throw_failure();
}

/// Waits until at most `left` posted messages are in flight. They come back in order.
void StageRing::drain(std::uint32_t left) {
  while (posted_ > left) {
    StageMessage reply = in_.receive();
    --posted_;
    if (reply.command == StageCommand::failed && !failed_) failed_ = std::move(reply);
  }
}

void StageRing::throw_failure() const {
  if (failed_) throw_from(*failed_);
}

void StageRing::resize(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) {
  exchange({.command = StageCommand::resize,
            .request = pages_request({.kind = kind, .to = pages, .shortage = shortage}),
            .rows = {},
            .cosines = {},
            .bytes = {}});
}

void StageRing::copy(MemoryKind kind, std::uint32_t from, std::uint32_t to) {
  post({.command = StageCommand::copy,
        .request = pages_request({.kind = kind, .from = from, .to = to}),
        .rows = {},
        .cosines = {},
        .bytes = {}});
}

}  // namespace skipstone::exec
