// Handles that one call uses at a time: a second call, of another thread or of a callback of the first, is refused, and a handle that is
// freed meanwhile is deleted when the call returns.
#pragma once

#include <atomic>
#include <thread>
#include <utility>

#include "base/status.h"
#include "engine/engine.h"

namespace skipstone::api {

/// Part of a handle.
class InUse {
 public:
  /// False where a call uses the handle.
  bool take() noexcept {
    State idle = State::idle;
    if (!state_.compare_exchange_strong(idle, State::used)) return false;
    user_.store(std::this_thread::get_id());
    return true;
  }
  /// True where the handle was freed meanwhile: it is the caller's to delete.
  bool give() noexcept {
    user_.store({});
    State used = State::used;
    return !state_.compare_exchange_strong(used, State::idle);
  }
  /// Whether the call that uses it is this thread's, so that this is one of its callbacks.
  bool is_mine() const noexcept { return user_.load() == std::this_thread::get_id(); }
  /// The handle is freed. True where no call uses it: it is the caller's to delete. Else the call that uses it will.
  bool end() noexcept { return state_.exchange(State::ended) == State::idle; }

 private:
  enum class State { idle, used, ended };
  std::atomic<State> state_ = State::idle;
  std::atomic<std::thread::id> user_{};
};

/// Held by every call that changes the object of a handle. A handle has `in_use`, and its name in sentences.
template <typename Handle>
class Use {
 public:
  explicit Use(Handle& handle) : handle_(handle) {
    if (!handle.in_use.take()) {
      fail(Code::invalid_argument,
           "the {} is in use by a call that has not returned; a callback or another thread cannot change it meanwhile", Handle::name);
    }
  }
  ~Use() {
    if (handle_.in_use.give()) delete &handle_;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Handle& handle_;
};

/// Held by calls that only read: callbacks of the call that uses the handle may read it, other threads find nothing.
template <typename Handle>
class ReadAccess {
 public:
  explicit ReadAccess(const Handle& handle) : handle_(const_cast<Handle&>(handle)), taken_(handle_.in_use.take()) {}
  ~ReadAccess() {
    if (taken_ && handle_.in_use.give()) delete &handle_;
  }
  ReadAccess(const ReadAccess&) = delete;
  ReadAccess& operator=(const ReadAccess&) = delete;
  /// Whether the call may read.
  explicit operator bool() const { return taken_ || handle_.in_use.is_mine(); }
  void require() const {
    if (!*this) fail(Code::invalid_argument, "the {} is in use by a call of another thread that has not returned", Handle::name);
  }

 private:
  Handle& handle_;
  bool taken_;
};

template <typename Handle>
void free_handle(Handle* handle) noexcept {
  if (handle != nullptr && handle->in_use.end()) delete handle;
}

// ---- callbacks of calls that hold an engine's locks meanwhile ----

/// While it lives, this thread is in a callback of a call that is making or measuring something with the engine.
class Within {
 public:
  explicit Within(const engine::Engine* engine) noexcept;
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

  /// Throws invalid_argument in such a callback: a call that runs the engine would wait for itself.
  static void require_outside(const engine::Engine* engine);

 private:
  const engine::Engine* engine_;
  const Within* outer_;
};

/// `progress` in such a callback.
inline engine::Progress within(const engine::Engine* engine, engine::Progress progress) {
  if (!progress) return {};
  return [engine, progress = std::move(progress)](const std::string& stage, double done) {
    const Within here(engine);
    progress(stage, done);
  };
}

}  // namespace skipstone::api
