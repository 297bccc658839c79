// Early end of a request: its client is gone, its time is over, or the server ends.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace cli::serve {

/// Thread-safe.
class Cancellation {
 public:
  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (skipstone_session* const session : sessions_) skipstone_session_cancel(session);
  }
  bool cancelled() const { return cancelled_; }

  /// During its lifetime cancel() stops the session's call. A request has one for each of its choices.
  class Scope {
   public:
    Scope(Cancellation& cancellation, skipstone::Session& session) : cancellation_(cancellation), session_(session.get()) {
      const std::lock_guard lock(cancellation_.mutex_);
      cancellation_.sessions_.push_back(session_);
      if (cancellation_.cancelled_) skipstone_session_cancel(session.get());
    }
    ~Scope() {
      const std::lock_guard lock(cancellation_.mutex_);
      std::erase(cancellation_.sessions_, session_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancellation& cancellation_;
    skipstone_session* session_;
  };

 private:
  std::mutex mutex_;
  std::vector<skipstone_session*> sessions_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace cli::serve
