#include "exec/link.h"

#include <cstring>
#include <span>
#include <thread>
#include <utility>

namespace skipstone::exec {

using Clock = std::chrono::steady_clock;

StageMessage failure(Code code, const std::string& sentence) {
  StageMessage message{.command = StageCommand::failed, .code = code, .request = {}, .rows = {}, .cosines = {}, .bytes = {}};
  const auto text = std::as_bytes(std::span(sentence));
  message.bytes.assign(text.begin(), text.end());
  return message;
}

void Link::send(StageMessage message) {
  message.not_before = (Clock::now() + delay_).time_since_epoch().count();
  put(std::move(message));
}

StageMessage Link::receive() {
  StageMessage message = taken_ ? *std::exchange(taken_, std::nullopt) : take();
  if (delay_.count() > 0) std::this_thread::sleep_until(Clock::time_point(Clock::duration(message.not_before)));
  return message;
}

bool Link::ready() {
  if (!taken_) taken_ = try_take();
  return taken_ && (delay_.count() == 0 || Clock::now().time_since_epoch().count() >= taken_->not_before);
}

void QueueLink::put(StageMessage message) {
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
  }
  arrived_.notify_one();
}

StageMessage QueueLink::take() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return !messages_.empty(); });
  StageMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

std::optional<StageMessage> QueueLink::try_take() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) return std::nullopt;
  StageMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace skipstone::exec
