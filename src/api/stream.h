// The tokens of one generation on their way to the caller's callback, as text.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "skipstone/session.h"
#include "text/stop_strings.h"

namespace skipstone::api {

class Stream {
 public:
  /// `cancel` is set from any thread; taking notice clears it.
  Stream(const engine::Engine& engine, const text::StopStrings& stop, std::atomic<bool>& cancel, bool at_text_start,
         skipstone_chunk_fn chunk, void* user_data);

  /// False where the caller, a cancellation or a stop string asks to stop.
  bool push(const speculation::Emitted& emitted);
  /// Delivers text that is held back; then says why the text ended, where the loop knows no better than `reason`.
  speculation::StopReason finish(speculation::StopReason reason);

 private:
  bool hand_over(const std::string& text, const speculation::Emitted& emitted);

  std::optional<text::StreamDecoder> decoder_;  ///< none where the model has no tokenizer
  text::StopStrings stop_;
  std::atomic<bool>& cancel_;
  skipstone_chunk_fn chunk_;
  void* user_data_;
};

}  // namespace skipstone::api
