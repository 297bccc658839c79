// Callbacks of calls that hold an engine's locks meanwhile.
#pragma once

#include "engine/engine.h"

namespace skipstone::api {

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
