#include "api/stream.h"

#include <utility>
#include <vector>

namespace skipstone::api {

Stream::Stream(std::optional<text::StreamDecoder> decoder, const text::StopStrings& stop, std::atomic<bool>& cancel, ChunkCallback callback)
    : decoder_(std::move(decoder)), stop_(stop), cancel_(cancel), callback_(callback) {}

bool Stream::push(const speculation::Emitted& emitted) {
  const std::string text = decoder_ ? stop_.push(decoder_->push(emitted.token)) : "";
  const bool go_on = callback_.chunk == nullptr || hand_over(text, emitted);
  return !cancel_.exchange(false) && go_on && !stop_.stopped();
}

speculation::StopReason Stream::finish(speculation::StopReason reason) {
  if (decoder_ && !stop_.stopped()) {
    std::string rest = stop_.push(decoder_->finish());
    if (!stop_.stopped()) rest += stop_.finish();
    if (!rest.empty() && callback_.chunk != nullptr) hand_over(rest, {});
  }
  return stop_.stopped() ? speculation::StopReason::stop_string : reason;
}

bool Stream::hand_over(const std::string& text, const speculation::Emitted& emitted) {
  skipstone_chunk chunk{};
  chunk.text = text.c_str();
  chunk.bytes = text.size();
  chunk.token = emitted.token;
  chunk.drafted = emitted.drafted ? 1 : 0;
  chunk.struct_size = sizeof(chunk);
  const std::string drafter(emitted.drafter);
  if (emitted.drafted) chunk.drafter = drafter.c_str();
  std::vector<skipstone_token_logprob> top;
  if (emitted.logprobs != nullptr) {
    chunk.logprob = emitted.logprobs->chosen;
    for (const sample::TokenLogprob& one : emitted.logprobs->top) top.push_back({one.token, one.logprob});
    chunk.top = top.data();
    chunk.top_count = top.size();
  }
  return callback_.chunk(&chunk, callback_.user_data) == 0;
}

}  // namespace skipstone::api
