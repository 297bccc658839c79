#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/status.h"
#include "engine/conversation_file.h"
#include "engine/session_state.h"
#include "speculation/synthetic_acceptance.h"

namespace skipstone::engine {

void check_synthetic(const SessionOptions& options) {
  if (options.synthetic_acceptance.empty()) return;
  speculation::check_synthetic_acceptance(options.synthetic_acceptance);
  if (options.verification == sample::Verification::rejection) {
    fail(Code::invalid_argument, "synthetic acceptance and verification by rejection are two ways to accept drafts; choose one");
  }
  if (!speculation::is_lossless(options.draft)) {
    fail(Code::invalid_argument, "drafter {} is lossy: there is no acceptance that could be synthetic", options.draft);
  }
}

namespace {

/// Runs passes in the step runner's slices while its body runs.
class SlicedScope {
 public:
  SlicedScope(StepRunner& step_runner, StepRunner*& stepping, DeviceSequence& sequence) : stepping_(stepping), sequence_(sequence) {
    stepping_ = &step_runner;
    sequence_.set_slicer(&step_runner);
  }
  ~SlicedScope() {
    sequence_.set_slicer(nullptr);
    stepping_ = nullptr;
  }
  SlicedScope(const SlicedScope&) = delete;
  SlicedScope& operator=(const SlicedScope&) = delete;

 private:
  StepRunner*& stepping_;
  DeviceSequence& sequence_;
};

}  // namespace

Session::Session(std::shared_ptr<Engine> engine, const SessionOptions& options) {
  options.sampling.check();
  check_synthetic(options);
  for (const sample::TokenBias& bias : options.sampling.logit_bias) {
    if (const std::uint32_t vocabulary = engine->config().vocabulary;
        bias.token < 0 || static_cast<std::uint32_t>(bias.token) >= vocabulary)
      fail_about("logit_bias", Code::invalid_argument, "logit_bias has token {}, which is outside the vocabulary of {}", bias.token,
                 vocabulary);
  }
  state_ = std::make_unique<State>(std::move(engine), options);
  state_->options.progress = state_->as_given.progress = {};  // its owner may be destroyed from now on
}

Session::~Session() = default;

namespace {

/// Marks the session as idle at its end, so that passes of concurrent sequences do not wait for it.
class IdleScope {
 public:
  explicit IdleScope(exec::Executor& passes) : passes_(passes) {}
  ~IdleScope() { passes_.set_idle(); }
  IdleScope(const IdleScope&) = delete;
  IdleScope& operator=(const IdleScope&) = delete;

 private:
  exec::Executor& passes_;
};

/// Keeps a text's length for readers while the text grows, and holds drafts at times.
class LengthScope {
 public:
  LengthScope(std::optional<std::size_t>& kept, std::size_t length) : kept_(kept) { kept_ = length; }
  ~LengthScope() { kept_.reset(); }
  LengthScope(const LengthScope&) = delete;
  LengthScope& operator=(const LengthScope&) = delete;

 private:
  std::optional<std::size_t>& kept_;
};

}  // namespace

speculation::Outcome Session::generate(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const speculation::Emit& emit) {
  state_->require_idle();
  return run(tokens, max_tokens, emit);
}

void Session::begin(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const speculation::Emit& emit) {
  State& s = *state_;
  s.require_idle();
  s.step_runner = std::make_unique<StepRunner>([this, tokens, max_tokens, emit](StepRunner& step_runner) {
    const SlicedScope paced(step_runner, state_->stepping, state_->sequence);
    const auto on_caller = [&](const speculation::Emitted& emitted) {
      bool go_on = true;
      if (emit) step_runner.on_caller([&] { go_on = emit(emitted); });
      return go_on;
    };
    state_->outcome = run(tokens, max_tokens, on_caller);
  });
}

std::optional<speculation::Outcome> Session::step(std::chrono::microseconds budget, StepMode mode) {
  State& s = *state_;
  if (!s.step_runner) fail(Code::invalid_argument, "there is nothing to step: no generation of this session has begun");
  try {
    if (!s.step_runner->step(budget, mode)) return std::nullopt;
  } catch (...) {
    s.step_runner.reset();
    throw;
  }
  s.step_runner.reset();
  return std::move(s.outcome);
}

void Session::cancel_when(std::function<bool()> cancelled) { state_->cancelled = std::move(cancelled); }

bool Session::begun() const { return state_->step_runner != nullptr; }

speculation::Outcome Session::run(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const speculation::Emit& emit) {
  State& s = *state_;
  const IdleScope afterwards(s.passes);
  speculation::TokenHistory& text = s.sequence.text();
  s.filled = 0;
  if (tokens.empty() && text.size() == 0) fail(Code::invalid_argument, "the prompt is empty; give at least one character of text");
  const std::size_t before = text.size(), prompt_end = before + tokens.size();
  const LengthScope length(s.length_before, before);
  speculation::Limits limits;
  limits.max_tokens = max_tokens;
  limits.interrupted = [&] { return s.is_cancelled(); };
  const std::shared_ptr<const speculation::RoundCosts> costs = known_round_costs(s.engine->state());
  limits.costs = costs.get();
  const bool synthetic = !s.options.synthetic_acceptance.empty();
  if (!synthetic && !s.options.ignore_end)
    limits.ends_generation = [&](text::Token token) { return s.engine->has_tokenizer() && s.engine->tokenizer().ends_generation(token); };
  const auto keep_prompt = [&] {
    if (!tokens.empty()) s.prompt_end = prompt_end;
  };
  std::optional<speculation::SyntheticAcceptance> drawn;
  if (synthetic) drawn.emplace(s.sequence, s.options.synthetic_acceptance, s.engine->config().vocabulary);
  speculation::Sequence& sequence = drawn ? static_cast<speculation::Sequence&>(*drawn) : s.sequence;
  if (s.constraint) {
    s.constraint->begin(tokens.empty() ? text.last_prompt_end() : prompt_end);
    if (tokens.empty() && !s.constraint->fits(text.tokens()))
      fail(Code::invalid_argument,
           "the continuation so far does not fit the grammar, so it cannot continue; give a prompt to begin another");
    limits.fitting = [&](std::span<const text::Token> all, const speculation::TokenTree& tree) { return s.constraint->fitting(all, tree); };
  }
  text.append(tokens);
  try {
    s.read_own_tokens(before);
    speculation::Outcome outcome = speculation::generate(sequence, *s.drafter, text, limits, emit);
    s.sequence.keep_continuation();
    keep_prompt();
    return outcome;
  } catch (...) {
    // Emitted tokens stay in the conversation even if an exception ends the generation, and so does a prompt that is read in part: the KV
    // cache remains a prefix of the text.
    if (s.sequence.committed() > before || text.size() > prompt_end) {
      keep_prompt();
    } else {
      text.truncate(before);
    }
    throw;
  }
}

void Session::prefill(const std::vector<text::Token>& tokens) {
  State& s = *state_;
  s.require_idle();
  s.filled = 0;
  if (tokens.empty()) return;
  speculation::TokenHistory& text = s.sequence.text();
  const std::size_t before = text.size();
  const LengthScope length(s.length_before, before);
  if (before + tokens.size() > s.sequence.limits().context) {
    fail(Code::invalid_argument, "the text is {} tokens long, but the context holds {}; shorten it or ask for a larger context",
         before + tokens.size(), s.sequence.limits().context);
  }
  text.append(tokens);
  try {
    s.read_own_tokens(before);
    const auto read = s.sequence.prefill(std::span<const text::Token>(text.tokens()).subspan(s.sequence.committed()), false);
    if (read.interrupted) fail(Code::cancelled, "reading the text was cancelled");
  } catch (...) {
    if (s.sequence.committed() > before) {  // as in generate(): the cache holds a part of it
      s.prompt_end = text.size();
    } else {
      text.truncate(before);
    }
    throw;
  }
  s.prompt_end = text.size();
}

void Session::copy_from(Session& from) {
  State &s = *state_, &other = *from.state_;
  if (s.engine != other.engine) fail(Code::invalid_argument, "a session cannot take over the conversation of another engine's");
  if (&s == &other) return;
  s.require_idle();
  other.require_idle();
  s.filled = 0;
  s.sequence.copy_from(other.sequence);
  s.prompt_end = other.prompt_end;
}

std::unique_ptr<Session> Session::fork() {
  state_->require_idle();
  auto session = std::make_unique<Session>(state_->engine, state_->as_given);
  session->copy_from(*this);
  return session;
}

void Session::save(const std::string& path) {
  State& s = *state_;
  s.require_idle();
  s.sequence.finish();
  save_conversation(path, s.engine->state(), s.passes.pages(), {s.sequence.text(), s.prompt_end, s.sequence.left_layers_out()});
}

void Session::load(const std::string& path) {
  State& s = *state_;
  s.require_idle();
  const SavedConversation saved(path, s.engine->state());
  reset();  // from here on the keys and values belong to neither conversation
  s.filled = 0;
  saved.restore(s.engine->state(), s.passes);
  const Conversation& conversation = saved.conversation();
  s.sequence.continue_from(conversation.text, conversation.layers_left_out);
  s.prompt_end = conversation.prompt_end;
}

std::size_t Session::length() const { return state_->length_before.value_or(state_->sequence.text().size()); }
const std::vector<text::Token>& Session::history() const { return state_->sequence.text().tokens(); }
const std::vector<float>& Session::attention_cosine() const { return state_->sequence.cosine; }

const CorpusFacts& Session::corpus() const { return state_->corpus; }

// Tokens after the last remaining one are dropped. If it belongs to a continuation, it is pending again, as if the continuation had stopped
// there; after a prompt, only a further token can continue the conversation.
void Session::rewind(std::size_t count) {
  State& s = *state_;
  s.require_idle();
  speculation::TokenHistory& text = s.sequence.text();
  if (count > text.size()) {
    fail(Code::invalid_argument, "{} tokens cannot be taken back: the conversation has {}", count, text.size());
  }
  if (count == 0) return;
  s.filled = 0;
  const std::size_t stays = text.size() - count;
  std::size_t committed = std::min<std::size_t>(stays, s.sequence.committed());
  if (committed == stays && committed > 0 && text.is_continuation(committed - 1)) --committed;
  const auto cut = [&](std::size_t tokens) {
    text.truncate(tokens);
    s.prompt_end = std::min(s.prompt_end, tokens);
  };
  try {
    if (committed < s.sequence.committed()) s.sequence.rollback(static_cast<std::uint32_t>(s.sequence.committed() - committed));
  } catch (...) {  // thrown while reading a text again whose pages were freed
    cut(std::min<std::size_t>(stays, s.sequence.committed()));
    throw;
  }
  cut(stays);
}

std::vector<float> Session::logits() {
  state_->require_idle();
  return state_->sequence.logits();
}

std::vector<float> Session::hidden() {
  state_->require_idle();
  return state_->sequence.hidden();
}

void Session::reset() {
  state_->step_runner.reset();
  state_->prompt_end = 0;
  state_->sequence.clear();
}

}  // namespace skipstone::engine
