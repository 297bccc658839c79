#include "api/stream.h"

namespace skipstone::api {

Stream::Stream(const engine::Engine& engine, const text::StopStrings& stop, std::atomic<bool>& cancel, bool at_text_start,
               skipstone_chunk_fn chunk, void* user_data)
    : stop_(stop), cancel_(cancel), chunk_(chunk), user_data_(user_data) {
  if (engine.has_tokenizer()) decoder_.emplace(engine.tokenizer(), at_text_start);
}

bool Stream::push(const speculation::Emitted& emitted) {
  const std::string text = decoder_ ? stop_.push(decoder_->push(emitted.token)) : "";
  const bool go_on = chunk_ == nullptr || hand_over(text, emitted);
  return !cancel_.exchange(false) && go_on && !stop_.stopped();
}

speculation::StopReason Stream::finish(speculation::StopReason reason) {
  if (decoder_ && !stop_.stopped()) {
    std::string rest = stop_.push(decoder_->finish());
    if (!stop_.stopped()) rest += stop_.finish();
    if (!rest.empty() && chunk_ != nullptr) hand_over(rest, {});
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
  return chunk_(&chunk, user_data_) == 0;
}

}  // namespace skipstone::api
