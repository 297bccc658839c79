// Contents of the C API's opaque handles.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/in_use.h"
#include "api/stream.h"
#include "chat/chat_prompt.h"
#include "engine/engine.h"
#include "grammar/grammar.h"
#include "skipstone/session.h"
#include "speculation/loop.h"

struct skipstone_chat {
  std::shared_ptr<const skipstone::chat::ChatPrompt> prompt;
  std::vector<const char*> stop_strings;  ///< the prompt's, as C has them
};

struct skipstone_engine {
  std::shared_ptr<skipstone::engine::Engine> engine;
  std::string driver;  ///< name and version, as skipstone_engine_info gives them
};

struct skipstone_grammar {
  std::shared_ptr<skipstone::grammar::Grammar> grammar;
};

struct skipstone_memory_account {
  std::shared_ptr<skipstone::vk::MemoryAccount> account;
};

struct skipstone_session {
  std::shared_ptr<skipstone::engine::Engine> engine;
  skipstone::speculation::Outcome last;
  skipstone::text::StopStrings stop{{}};
  std::unique_ptr<skipstone::api::Stream> stream;  ///< of the generation that has begun and not ended
  std::atomic<bool> cancel{false};
  std::unique_ptr<skipstone::engine::Session> session;  ///< after the members that its generation uses
  skipstone::api::InUse in_use;
  static constexpr const char* name = "session";
  static_assert(std::atomic<bool>::is_always_lock_free, "skipstone_session_cancel() is called from signal handlers");
};

namespace skipstone::api {

/// Held by every call that runs a session's passes or changes it.
class SessionUse {
 public:
  explicit SessionUse(skipstone_session& session) : use_(session) { Within::require_outside(session.engine.get()); }

 private:
  Use<skipstone_session> use_;
};

}  // namespace skipstone::api
