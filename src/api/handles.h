// What the opaque handles of the C API hold.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "spec/loop.h"

struct skipstone_engine {
  std::shared_ptr<skipstone::engine::Engine> engine;
  std::string driver;  ///< name and version, as skipstone_engine_info gives them
};

struct skipstone_session {
  std::shared_ptr<skipstone::engine::Engine> engine;
  std::unique_ptr<skipstone::engine::Session> session;
  skipstone::spec::Outcome last;
  std::atomic<bool> cancel{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "skipstone_session_cancel() is called from signal handlers");
};
