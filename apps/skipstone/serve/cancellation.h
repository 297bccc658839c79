// Early end of a request: its client is gone, its time is over, or the server ends.
#pragma once

#include <atomic>
#include <mutex>

#include "skipstone/skipstone.hpp"

namespace cli::serve {

/// Thread-safe.
class Cancellation {
 public:
  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (session_ != nullptr) skipstone_session_cancel(session_);
  }
  bool cancelled() const { return cancelled_; }

  /// During its lifetime cancel() stops the session's call.
  class Scope {
   public:
    Scope(Cancellation& cancellation, skipstone::Session& session) : cancellation_(cancellation) {
      const std::lock_guard lock(cancellation_.mutex_);
      cancellation_.session_ = session.get();
      if (cancellation_.cancelled_) skipstone_session_cancel(session.get());
    }
    ~Scope() {
      const std::lock_guard lock(cancellation_.mutex_);
      cancellation_.session_ = nullptr;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancellation& cancellation_;
  };

 private:
  std::mutex mutex_;
  skipstone_session* session_ = nullptr;
  std::atomic<bool> cancelled_{false};
};

}  // namespace cli::serve
