// A session's conversation: continued at once or in steps, rolled back, read.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/guard.h"
#include "api/handles.h"
#include "skipstone/session.h"
#include "text/tokenizer.h"

using namespace skipstone;

namespace {

bool at_text_start(const skipstone_session& session, const std::vector<text::Token>& prompt) {
  return session.session->length() == 0 && session.engine->tokenizer().decode(prompt).empty();
}

std::unique_ptr<api::Stream> stream_for(skipstone_session& session, const std::vector<text::Token>& prompt, api::ChunkCallback callback) {
  std::optional<text::StreamDecoder> decoder;
  if (session.engine->has_tokenizer()) decoder.emplace(session.engine->tokenizer(), at_text_start(session, prompt));
  return std::make_unique<api::Stream>(std::move(decoder), session.stop, session.cancel, callback);
}

void keep(skipstone_session& session, speculation::Outcome outcome, api::Stream& stream) {
  session.last = std::move(outcome);
  session.last.stop = stream.finish(session.last.stop);
}

std::vector<text::Token> prompt_from(const skipstone_token* tokens, size_t count) {
  api::require_array(tokens, count, api::most_tokens, "tokens");
  return {tokens, tokens + count};
}

/// As skipstone_tokenize() gives its tokens.
void give_floats(const std::vector<float>& values, float* target, size_t capacity, size_t* count) {
  *count = values.size();
  if (capacity == 0) return;
  api::require(target, "the array to fill");
  if (values.size() > capacity) {
    fail(Code::invalid_argument, "there are {} numbers, and the array has room for {}", values.size(), capacity);
  }
  std::ranges::copy(values, target);
}

}  // namespace

extern "C" {

skipstone_status skipstone_session_generate(skipstone_session* session, const skipstone_token* tokens, size_t count, uint32_t max_tokens,
                                            skipstone_chunk_fn chunk, void* user_data) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    const auto prompt = prompt_from(tokens, count);
    if (!session->session->begun()) session->last = {};
    const auto stream = stream_for(*session, prompt, {chunk, user_data});
    keep(*session,
         session->session->generate(prompt, max_tokens, [&](const speculation::Emitted& emitted) { return stream->push(emitted); }),
         *stream);
  });
}

skipstone_status skipstone_session_score(skipstone_session* session, const skipstone_token* tokens, size_t count, skipstone_chunk_fn chunk,
                                         void* user_data) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    const auto text = prompt_from(tokens, count);
    std::optional<text::StreamDecoder> decoder;
    if (session->engine->has_tokenizer()) decoder.emplace(session->engine->tokenizer(), false);
    api::Stream stream(std::move(decoder), text::StopStrings({}), session->cancel, {chunk, user_data});
    session->session->score(text, [&](const speculation::Emitted& emitted) { return stream.push(emitted); });
  });
}

skipstone_status skipstone_session_begin(skipstone_session* session, const skipstone_token* tokens, size_t count, uint32_t max_tokens,
                                         skipstone_chunk_fn chunk, void* user_data) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    const auto prompt = prompt_from(tokens, count);
    auto stream = stream_for(*session, prompt, {chunk, user_data});
    session->session->begin(prompt, max_tokens, [&stream = *stream](const speculation::Emitted& emitted) { return stream.push(emitted); });
    session->last = {};
    session->stream = std::move(stream);
  });
}

skipstone_status skipstone_session_step(skipstone_session* session, uint64_t microseconds, int32_t mode, int32_t* done) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(done, "done");
    *done = 0;
    const api::SessionUse use(*session);
    if (mode != SKIPSTONE_STEP_WAIT && mode != SKIPSTONE_STEP_POLL)
      fail(Code::invalid_argument, "mode {} is none of skipstone_step_mode", mode);
    *done = 1;  // also where the step fails: that ends the generation
    constexpr std::uint64_t hour = 3600ull * 1000 * 1000;
    auto outcome = session->session->step(std::chrono::microseconds(std::min(microseconds, hour)),
                                          mode == SKIPSTONE_STEP_POLL ? engine::StepMode::poll : engine::StepMode::wait);
    *done = outcome ? 1 : 0;
    if (outcome) keep(*session, std::move(*outcome), *session->stream);
  });
}

skipstone_status skipstone_session_set_stop(skipstone_session* session, const char* const* strings, size_t count) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    api::require_array(strings, count, text::StopStrings::most, "stop strings");
    if (count > 0 && !session->engine->has_tokenizer()) fail(Code::unsupported, "stop strings need a model with a tokenizer");
    std::vector<std::string> stop;
    for (size_t i = 0; i < count; ++i) {
      api::require(strings[i], "a stop string");
      stop.emplace_back(strings[i]);
    }
    session->stop = text::StopStrings(std::move(stop));
  });
}

skipstone_status skipstone_session_reset(skipstone_session* session) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    session->session->reset();
    session->stream.reset();
    session->last = {};
  });
}

skipstone_status skipstone_session_rewind(skipstone_session* session, size_t count) {
  return api::guard([&] {
    api::require(session, "session");
    const api::SessionUse use(*session);
    session->session->rewind(count);
  });
}

size_t skipstone_session_length(const skipstone_session* session) {
  if (session == nullptr) return 0;
  const api::ReadAccess access(*session);
  return !access || session->session->begun() ? 0 : session->session->length();
}

skipstone_status skipstone_session_logits(skipstone_session* session, float* logits, size_t capacity, size_t* count) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(count, "count");
    *count = session->engine->config().vocabulary;
    const api::SessionUse use(*session);
    if (capacity > 0) give_floats(session->session->logits(), logits, capacity, count);
  });
}

skipstone_status skipstone_session_hidden_state(skipstone_session* session, float* state, size_t capacity, size_t* count) {
  return api::guard([&] {
    api::require(session, "session");
    api::require(count, "count");
    *count = session->engine->config().width;
    const api::SessionUse use(*session);
    if (capacity > 0) give_floats(session->session->hidden(), state, capacity, count);
  });
}

}  // extern "C"
