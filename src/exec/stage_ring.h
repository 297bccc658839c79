// The first stage's end of the ring: its requests to remote layers.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/kv_buffers.h"
#include "exec/link.h"

namespace skipstone::exec {

struct PassSpec;
struct SequenceRows;

/// The pages of remote layers are those that its stages have. Thread-safe; one exchange() at a time.
class StageRing : public PageStore {
 public:
  /// `out` leads to the stage after the first one, `in` from the last one. Both outlive the ring.
  StageRing(Link& out, Link& in) : out_(out), in_(in) {}
  /// Ends all stages.
  ~StageRing() override;
  StageRing(const StageRing&) = delete;
  StageRing& operator=(const StageRing&) = delete;

  /// Sends `message` around the ring; returns it as it comes back. `meanwhile` runs while the message is remote; it may not use the ring.
  /// Throws what a stage threw.
  StageMessage exchange(StageMessage message, const std::function<void()>& meanwhile = {});
  /// The same without waiting for other work: nullopt if the ring is in use, or posted messages are not back.
  std::optional<StageMessage> try_exchange(StageMessage message);
  /// Sends `message` without waiting for it. A failure is thrown by a later call, and by all calls after that one.
  void post(StageMessage message);
  /// Returns when all posted messages are back. Throws as post().
  void wait();
  /// Whether the last message is back; for `meanwhile`.
  bool is_back() { return in_.ready(); }

  void resize(MemoryKind kind, std::uint32_t pages, vk::Shortage shortage) override;
  void copy(MemoryKind kind, std::uint32_t from, std::uint32_t to) override;

  std::uint32_t new_runner() {
    const std::lock_guard lock(mutex_);
    return next_runner_++;
  }

 private:
  StageMessage exchange_alone(StageMessage message, const std::function<void()>& meanwhile);
  void drain(std::uint32_t left);
  void throw_failure() const;

  Link &out_, &in_;
  std::mutex mutex_;
  std::uint32_t posted_ = 0;  ///< messages that have not come back
  std::uint32_t next_runner_ = 0;
  std::optional<StageMessage> failed_;  ///< the failure of a posted message
};

}  // namespace skipstone::exec
