#include "api/stream.h"

namespace skipstone::api {

Stream::Stream(const engine::Engine& engine, const text::StopStrings& stop, std::atomic<bool>& cancel, bool at_text_start,
               skipstone_chunk_fn chunk, void* user_data)
    : stop_(stop), cancel_(cancel), chunk_(chunk), user_data_(user_data) {
  if (engine.has_tokenizer()) decoder_.emplace(engine.tokenizer(), at_text_start);
}

bool Stream::push(text::Token token, bool drafted) {
  const std::string text = decoder_ ? stop_.push(decoder_->push(token)) : "";
  const bool go_on = chunk_ == nullptr || hand_over(text, token, drafted);
  return !cancel_.exchange(false) && go_on && !stop_.stopped();
}

spec::StopReason Stream::finish(spec::StopReason reason) {
  if (decoder_ && !stop_.stopped()) {
    std::string rest = stop_.push(decoder_->finish());
    if (!stop_.stopped()) rest += stop_.finish();
    if (!rest.empty() && chunk_ != nullptr) hand_over(rest, -1, false);
  }
  return stop_.stopped() ? spec::StopReason::stop_string : reason;
}

bool Stream::hand_over(const std::string& text, text::Token token, bool drafted) {
  const skipstone_chunk chunk{text.c_str(), text.size(), token, drafted ? 1 : 0, sizeof(skipstone_chunk)};
  return chunk_(&chunk, user_data_) == 0;
}

}  // namespace skipstone::api
