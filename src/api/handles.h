// What the opaque handles of the C API hold.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/stream.h"
#include "base/status.h"
#include "chat/prompt_writer.h"
#include "engine/engine.h"
#include "skipstone/session.h"
#include "spec/loop.h"

struct skipstone_chat {
  std::shared_ptr<const skipstone::chat::PromptWriter> writer;
  std::vector<const char*> stop_strings;  ///< the writer's, as C has them
};

struct skipstone_engine {
  std::shared_ptr<skipstone::engine::Engine> engine;
  std::string driver;  ///< name and version, as skipstone_engine_info gives them
};

struct skipstone_session {
  std::shared_ptr<skipstone::engine::Engine> engine;
  skipstone::spec::Outcome last;
  skipstone::text::StopStrings stop{{}};
  std::unique_ptr<skipstone::api::Stream> stream;  ///< of the generation that has begun and not ended
  std::atomic<bool> cancel{false};
  std::unique_ptr<skipstone::engine::Session> session;  ///< behind what its generation uses
  std::atomic<bool> busy{false};                        ///< a call that changes the session is running
  static_assert(std::atomic<bool>::is_always_lock_free, "skipstone_session_cancel() is called from signal handlers");
};

namespace skipstone::api {

/// Held by every call that changes a session: a second one, from a callback of the first or from another thread, is refused.
class Use {
 public:
  explicit Use(skipstone_session& session) : session_(session) {
    if (session_.busy.exchange(true)) {
      fail(Code::invalid_argument,
           "the session is in use by a call that has not returned; a callback or another thread cannot change it meanwhile");
    }
  }
  ~Use() { session_.busy.store(false); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  skipstone_session& session_;
};

}  // namespace skipstone::api
