// The first stage's end of the ring: what it asks of the layers on other devices.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/kv_buffers.h"
#include "exec/kv_cache.h"
#include "exec/link.h"

namespace skipstone::exec {

struct PassSpec;
struct SequenceRows;

/// From any thread; one message that is waited for at a time.
class StageRing {
 public:
  /// `out` leads to the stage behind the first one, `in` from the last one. Both outlive the ring.
  StageRing(Link& out, Link& in) : out_(out), in_(in) {}
  /// Ends all stages.
  ~StageRing();
  StageRing(const StageRing&) = delete;
  StageRing& operator=(const StageRing&) = delete;

  /// Sends `message` around; returns as what it comes back. `meanwhile` runs as long as it is away; it may not use the ring. Throws what a
  /// stage threw.
  StageMessage exchange(StageMessage message, const std::function<void()>& meanwhile = {});
  /// Sends it without waiting for it. A failure is thrown by a later call, and by all behind that one.
  void post(StageMessage message);
  /// Returns when all that was posted is back. Throws as post().
  void wait();
  /// Whether what was sent last is back; for `meanwhile`.
  bool is_back() { return in_.ready(); }

  std::uint32_t new_runner() {
    const std::lock_guard lock(mutex_);
    return next_runner_++;
  }

 private:
  StageMessage receive();
  void drain(std::uint32_t left);
  void throw_failure() const;

  Link &out_, &in_;
  std::mutex mutex_;
  std::uint32_t posted_ = 0;  ///< that have not come back
  std::uint32_t next_runner_ = 0;
  std::optional<StageMessage> failed_;  ///< what a message that nobody waits for has met with
};

/// The pages of the layers on other devices.
class RingStore : public KvStore {
 public:
  RingStore(StageRing& ring, bool windowed) : ring_(ring), windowed_(windowed) {}
  void resize(std::uint32_t pages) override;
  void copy(std::uint32_t from, std::uint32_t to) override;

 private:
  StageRing& ring_;
  bool windowed_;
};

}  // namespace skipstone::exec
