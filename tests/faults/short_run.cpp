#include "faults/short_run.h"

#include <array>

namespace skipstone::faults {
namespace {

struct Handles {
  skipstone_engine* engine = nullptr;
  skipstone_session* session = nullptr;
  ~Handles() {
    skipstone_session_free(session);
    skipstone_engine_free(engine);
  }
};

constexpr std::size_t generated = 8;

struct Text {
  std::array<skipstone_token, 64> tokens{};
  std::size_t count = 0;
};

skipstone_status attempt(const char* model, const RunOptions& options, Text& text) {
  Handles handles;
  skipstone_engine_params engine{};
  skipstone_engine_params_init(&engine, sizeof(engine));
  engine.model_path = model;
  if (const auto status = skipstone_engine_load(&engine, &handles.engine)) return status;
  skipstone_session_params session{};
  skipstone_session_params_init(&session, sizeof(session));
  session.temperature = options.temperature;
  session.draft = options.draft;
  session.rounds = options.rounds;
  if (const auto status = skipstone_session_create(handles.engine, &session, &handles.session)) return status;
  const std::array<skipstone_token, 5> prompt{1, 300, 301, 302, 303};
  if (const auto status = skipstone_session_generate(handles.session, prompt.data(), prompt.size(), generated, nullptr, nullptr)) {
    return status;
  }
  const skipstone_token* tokens = skipstone_session_tokens(handles.session, &text.count);
  for (std::size_t i = 0; i < text.count && i < text.tokens.size(); ++i) text.tokens[i] = tokens[i];
  return SKIPSTONE_OK;
}

}  // namespace

Outcome short_run(const char* model, const RunOptions& options, void (*done)()) {
  Text text;
  Outcome outcome;
  outcome.status = attempt(model, options, text);
  if (done != nullptr) done();
  if (outcome.status != SKIPSTONE_OK) {
    outcome.sentence = skipstone_last_error();
  } else {
    outcome.tokens.assign(text.tokens.begin(), text.tokens.begin() + static_cast<std::ptrdiff_t>(text.count));
  }
  return outcome;
}

}  // namespace skipstone::faults
