// The tokens of one generation on their way to the caller's callback, as text.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "skipstone/session.h"
#include "speculation/loop.h"
#include "text/stop_strings.h"
#include "text/tokenizer.h"

namespace skipstone::api {

/// The caller's callback; `chunk` may be null.
struct ChunkCallback {
  skipstone_chunk_fn chunk = nullptr;
  void* user_data = nullptr;
};

class Stream {
 public:
  /// `decoder`: none where the model has no tokenizer. `cancel` is set from any thread; taking notice clears it.
  Stream(std::optional<text::StreamDecoder> decoder, const text::StopStrings& stop, std::atomic<bool>& cancel, ChunkCallback callback);

  /// False where the caller, a cancellation or a stop string asks to stop.
  bool push(const speculation::Emitted& emitted);
  /// Delivers text that is held back; then says why the text ended, where the loop knows no better than `reason`.
  speculation::StopReason finish(speculation::StopReason reason);

 private:
  bool hand_over(const std::string& text, const speculation::Emitted& emitted);

  std::optional<text::StreamDecoder> decoder_;
  text::StopStrings stop_;
  std::atomic<bool>& cancel_;
  ChunkCallback callback_;
};

}  // namespace skipstone::api
