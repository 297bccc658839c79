#include "base/status.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/sequence_executor.h"
#include "spec/registry.h"

namespace skipstone::engine {
namespace {

// Keeps what the prompt's cosines were for the caller; everything else passes through.
class CosineKeeper : public SequenceExecutor {
 public:
  using SequenceExecutor::SequenceExecutor;
  spec::Prefilled prefill(std::span<const spec::Token> tokens, bool attention_cosine) override {
    spec::Prefilled prefilled = SequenceExecutor::prefill(tokens, attention_cosine);
    cosine = prefilled.attention_cosine;
    return prefilled;
  }
  std::vector<float> cosine;
};

}  // namespace

struct Session::State {
  State(std::shared_ptr<Engine> e, const SessionOptions& options)
      : engine(std::move(e)),
        drafter(spec::make_drafter(options.draft)),
        passes(engine->state().spare ? std::move(engine->state().spare) : engine->state().new_executor()),
        executor(*passes, engine->state().config, options.sampling, options.rounds) {
    drafter->attach({engine->config().layers, engine->config().exit_layer});
  }

  std::shared_ptr<Engine> engine;
  std::unique_ptr<spec::Drafter> drafter;
  std::unique_ptr<exec::Executor> passes;
  CosineKeeper executor;
  std::vector<text::Token> history;
};

Session::Session(std::shared_ptr<Engine> engine, const SessionOptions& options) {
  options.sampling.check();
  state_ = std::make_unique<State>(std::move(engine), options);
}

Session::~Session() = default;

spec::Outcome Session::generate(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit) {
  State& s = *state_;
  if (tokens.empty() && s.history.empty()) fail(Code::invalid_argument, "the prompt is empty; give at least one character of text");
  std::vector<text::Token> history = s.history;
  history.insert(history.end(), tokens.begin(), tokens.end());
  spec::Limits limits;
  limits.max_tokens = max_tokens;
  limits.ends_generation = [&](text::Token token) { return s.engine->tokenizer().ends_generation(token); };
  // What was emitted stays in the conversation also where an exception ends it: the executor may have committed these tokens already, and
  // the history must go on being what its KV cache is a prefix of.
  const std::vector<text::Token> prompt = history;
  const auto keep = [&](const spec::Emitted& emitted) {
    history.push_back(emitted.token);
    return !emit || emit(emitted);
  };
  try {
    spec::Outcome outcome = spec::generate(s.executor, *s.drafter, prompt, limits, keep);
    s.history = std::move(history);
    return outcome;
  } catch (...) {
    if (s.executor.committed() > s.history.size() || history.size() > prompt.size()) s.history = std::move(history);
    throw;
  }
}

const std::vector<text::Token>& Session::history() const { return state_->history; }
const std::vector<float>& Session::attention_cosine() const { return state_->executor.cosine; }

void Session::reset() {
  state_->history.clear();
  state_->executor.clear();
}

}  // namespace skipstone::engine
