#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "base/philox.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/bigram_table.h"
#include "engine/conversation_file.h"
#include "engine/device_sequence.h"
#include "engine/draft_model.h"
#include "engine/draft_texts.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/measurements.h"
#include "engine/stepper.h"
#include "spec/registry.h"
#include "spec/synthetic_acceptance.h"

namespace skipstone::engine {
namespace {

// Keeps what the prompt's cosines were for the caller; everything else passes through.
class CosineKeeper : public DeviceSequence {
 public:
  using DeviceSequence::DeviceSequence;
  spec::Prefilled prefill(std::span<const spec::Token> tokens, bool attention_cosine) override {
    spec::Prefilled prefilled = DeviceSequence::prefill(tokens, attention_cosine);
    cosine = prefilled.attention_cosine;
    return prefilled;
  }
  std::vector<float> cosine;
};

/// Token `position` of the text that measurements read: any will do, the same each time.
std::vector<text::Token> measured_text(std::uint32_t first, std::uint32_t count, std::uint32_t vocabulary) {
  std::vector<text::Token> tokens(count);
  for (std::uint32_t i = 0; i < count; ++i) tokens[i] = static_cast<text::Token>(philox({first + i, 0, 0, 0}, {0, 0})[0] % vocabulary);
  return tokens;
}

void check(const Work& work, const spec::SequenceLimits& limits) {
  const std::uint64_t tokens = std::uint64_t{work.depth} + work.prompt + work.generate + work.rows;
  if (work.rows > 0 && (work.prompt > 0 || work.generate > 0)) {
    fail(Code::invalid_argument, "a measurement is of one pass over rows, or of a prompt and what is generated; not of both");
  }
  if (tokens == work.depth) fail(Code::invalid_argument, "there is nothing to measure: no prompt, no tokens to generate, no rows");
  if (work.chains > 0 && work.rows == 0) fail(Code::invalid_argument, "{} chains of no rows cannot be measured", work.chains);
  if (work.rows > limits.rows) {
    fail(Code::invalid_argument, "a pass cannot verify {} rows; 1 to {} are possible", work.rows, limits.rows);
  }
  if (tokens > limits.context) {
    fail(Code::invalid_argument, "{} tokens are to be measured behind {} in the cache, which is more than the context of {}",
         tokens - work.depth, work.depth, limits.context);
  }
}

void run_work(DeviceSequence& sequence, const Work& work, const std::vector<text::Token>& tokens) {
  const std::span<const text::Token> all(tokens);
  if (work.chains > 0) {
    std::vector<std::vector<spec::Choice>> of_chains(work.chains, std::vector<spec::Choice>(work.rows));
    return sequence.verify_block(std::vector(work.chains, std::vector(all.begin(), all.begin() + work.rows)), of_chains);
  }
  spec::Verified verified;
  if (work.rows > 0) return sequence.verify(spec::TokenTree::chain(all[0], all.subspan(1)), 0, verified);
  text::Token next = tokens.front();
  if (work.prompt > 0) next = sequence.prefill(all.first(work.prompt), false).first.token;
  for (std::uint32_t i = 0; i < work.generate; ++i) {  // as the loop of plain decoding
    sequence.verify(spec::TokenTree(next), 0, verified);
    sequence.commit(std::array{0u});
    next = verified.choices[0].token;
  }
}

}  // namespace

void check_synthetic(const SessionOptions& options) {
  if (options.synthetic_acceptance.empty()) return;
  spec::check_synthetic_acceptance(options.synthetic_acceptance);
  if (options.verification == sample::Verification::rejection) {
    fail(Code::invalid_argument, "synthetic acceptance and verification by rejection are two ways to accept drafts; choose one");
  }
  if (!spec::is_lossless(options.draft)) {
    fail(Code::invalid_argument, "drafter {} is lossy: there is no acceptance that could be synthetic", options.draft);
  }
}

struct Session::State {
  State(std::shared_ptr<Engine> e, const SessionOptions& o)
      : engine(std::move(e)),
        as_given(o),
        options(on_caller(o)),
        drafter(make_drafter()),
        passes(*engine->state().passes),
        sequence(passes, engine->state().config, options.sampling, options.verification, options.rounds) {
    engine->state().device->require_alive();
    sequence.use(std::move(draft_models));
    sequence.use(engine->state().prefixes.get());
    const spec::DrafterTraits traits = drafter->traits();
    const bool logits = options.sampling.needs_logits() || traits.top > 0;
    engine->state().make_pipelines(passes, logits, traits.branches, options.progress);
  }

  /// The caller's sampler runs on the caller's thread, also where the generation has one of its own.
  SessionOptions on_caller(SessionOptions given) {
    if (!given.sampling.rule) return given;
    given.sampling.rule = [this, rule = std::move(given.sampling.rule)](std::span<const float> logits, std::span<const text::Token> text) {
      if (stepping == nullptr) return rule(logits, text);
      text::Token token = -1;
      stepping->on_caller([&] { token = rule(logits, text); });
      return token;
    };
    return given;
  }

  /// A prompt or nothing stands behind the history: what of it is not read yet, and was generated, is read as what it is, so that a continuation
  /// has the same bits wherever it was cut.
  void read_own_tokens() { sequence.own_tokens(static_cast<std::uint32_t>(history.size() - std::min(history.size(), std::max<std::size_t>(prompt_end, sequence.committed())))); }

  /// Throws where begin() has begun what has not ended.
  void require_idle() const {
    if (stepper) {
      fail(Code::invalid_argument, "a generation of this session has begun and not ended; step until it is done, or reset the session");
    }
  }

  /// Also fills `corpus`, where the drafter looks at it, and `draft_models`.
  std::unique_ptr<spec::Drafter> make_drafter() {
    spec::ModelFacts facts{.layers = engine->config().layers, .exit_layer = engine->config().exit_layer};
    facts.fingerprint = engine->model_fingerprint();
    if (platform::is_there(engine->state().profile)) facts.profile = engine->state().profile;
    facts.costs = [&] { return round_costs_of(engine->state(), options.progress); };
    facts.bigrams = [&] { return bigrams_of(engine->state(), options.progress); };
    facts.unigrams = [&] { return unigrams_of(engine->state(), options.progress); };
    if (engine->has_tokenizer()) {
      facts.read_text = [&](const std::string& file) { return read_text_tokens(engine->tokenizer(), file, "document", options.progress); };
    }
    if (!options.draft_corpus.empty()) {
      facts.corpus = [&] {
        const IndexedCorpus indexed = engine->state().corpus_of(options.draft_corpus, options.progress);
        corpus = indexed.facts;
        return indexed.index;
      };
    }
    facts.load_model = [&](const std::string& file) {
      draft_models.push_back(std::make_unique<DraftModel>(load_draft_model(*engine, file, options.progress)));
      return static_cast<std::uint32_t>(draft_models.size() - 1);
    };
    return spec::make_drafter(options.draft, facts, options.left_out);
  }

  std::shared_ptr<Engine> engine;
  SessionOptions as_given;  ///< for fork()
  SessionOptions options;
  CorpusFacts corpus;
  std::vector<std::unique_ptr<DraftModel>> draft_models;  ///< until the sequence has them
  std::unique_ptr<spec::Drafter> drafter;
  exec::Executor passes;
  CosineKeeper sequence;
  std::vector<text::Token> history;
  std::size_t prompt_end = 0;        ///< tokens of the history behind it are a continuation
  std::uint32_t filled = 0;          ///< positions whose keys and values measurements have left in the cache
  spec::Outcome outcome;             ///< of what begin() began, where it has ended
  Stepper* stepping = nullptr;       ///< in whose body generate() runs
  std::unique_ptr<Stepper> stepper;  ///< last: its body uses all of the above
};

namespace {

/// While the body of a stepper runs: passes go in its pieces.
class Paced {
 public:
  Paced(Stepper& stepper, Stepper*& stepping, DeviceSequence& sequence) : stepping_(stepping), sequence_(sequence) {
    stepping_ = &stepper;
    sequence_.pace(&stepper);
  }
  ~Paced() {
    sequence_.pace(nullptr);
    stepping_ = nullptr;
  }
  Paced(const Paced&) = delete;
  Paced& operator=(const Paced&) = delete;

 private:
  Stepper*& stepping_;
  DeviceSequence& sequence_;
};

}  // namespace

Session::Session(std::shared_ptr<Engine> engine, const SessionOptions& options) {
  options.sampling.check();
  check_synthetic(options);
  state_ = std::make_unique<State>(std::move(engine), options);
}

Session::~Session() = default;

namespace {

/// While a session has nothing to run, nobody's passes wait for it.
class Resting {
 public:
  explicit Resting(exec::Executor& passes) : passes_(passes) {}
  ~Resting() { passes_.rest(); }
  Resting(const Resting&) = delete;
  Resting& operator=(const Resting&) = delete;

 private:
  exec::Executor& passes_;
};

}  // namespace

spec::Outcome Session::generate(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit) {
  state_->require_idle();
  return run(tokens, max_tokens, emit);
}

void Session::begin(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit) {
  State& s = *state_;
  s.require_idle();
  s.stepper = std::make_unique<Stepper>([this, tokens, max_tokens, emit](Stepper& stepper) {
    const Paced paced(stepper, state_->stepping, state_->sequence);
    const auto on_caller = [&](const spec::Emitted& emitted) {
      bool go_on = true;
      if (emit) stepper.on_caller([&] { go_on = emit(emitted); });
      return go_on;
    };
    state_->outcome = run(tokens, max_tokens, on_caller);
  });
}

std::optional<spec::Outcome> Session::step(std::chrono::microseconds budget, StepMode mode) {
  State& s = *state_;
  if (!s.stepper) fail(Code::invalid_argument, "there is nothing to step: no generation of this session has begun");
  try {
    if (!s.stepper->step(budget, mode)) return std::nullopt;
  } catch (...) {
    s.stepper.reset();
    throw;
  }
  s.stepper.reset();
  return std::move(s.outcome);
}

void Session::cancel_when(std::function<bool()> cancelled) { state_->sequence.interrupt_by(std::move(cancelled)); }

bool Session::begun() const { return state_->stepper != nullptr; }

spec::Outcome Session::run(const std::vector<text::Token>& tokens, std::uint32_t max_tokens, const spec::Emit& emit) {
  State& s = *state_;
  const Resting afterwards(s.passes);
  s.filled = 0;
  if (tokens.empty() && s.history.empty()) fail(Code::invalid_argument, "the prompt is empty; give at least one character of text");
  std::vector<text::Token> history = s.history;
  history.insert(history.end(), tokens.begin(), tokens.end());
  spec::Limits limits;
  limits.max_tokens = max_tokens;
  const bool synthetic = !s.options.synthetic_acceptance.empty();
  if (!synthetic && !s.options.ignore_end)
    limits.ends_generation = [&](text::Token token) { return s.engine->has_tokenizer() && s.engine->tokenizer().ends_generation(token); };
  // What was emitted stays in the conversation also where an exception ends it: the sequence may have committed these tokens already, and
  // the history must go on being what its KV cache is a prefix of.
  const std::vector<text::Token> prompt = history;
  const auto keep_history = [&] {
    s.history = std::move(history);
    if (!tokens.empty()) s.prompt_end = prompt.size();
  };
  const auto keep = [&](const spec::Emitted& emitted) {
    history.push_back(emitted.token);
    return !emit || emit(emitted);
  };
  std::optional<spec::SyntheticAcceptance> drawn;
  if (synthetic) drawn.emplace(s.sequence, s.options.synthetic_acceptance, s.engine->config().vocabulary);
  spec::Sequence& sequence = drawn ? static_cast<spec::Sequence&>(*drawn) : s.sequence;
  try {
    s.read_own_tokens();
    spec::Outcome outcome = spec::generate(sequence, *s.drafter, prompt, limits, keep);
    s.sequence.keep_continuation();
    keep_history();
    return outcome;
  } catch (...) {
    if (s.sequence.committed() > s.history.size() || history.size() > prompt.size()) keep_history();
    throw;
  }
}

void Session::prefill(const std::vector<text::Token>& tokens) {
  State& s = *state_;
  s.require_idle();
  s.filled = 0;
  if (tokens.empty()) return;
  std::vector<text::Token> history = s.history;
  history.insert(history.end(), tokens.begin(), tokens.end());
  if (history.size() > s.sequence.limits().context) {
    fail(Code::invalid_argument, "the text is {} tokens long, but the context holds {}; shorten it or ask for a larger context",
         history.size(), s.sequence.limits().context);
  }
  const auto keep_history = [&] {
    s.history = std::move(history);
    s.prompt_end = s.history.size();
  };
  try {
    s.read_own_tokens();
    const auto read = s.sequence.prefill(std::span<const text::Token>(history).subspan(s.sequence.committed()), false);
    if (read.interrupted) fail(Code::cancelled, "reading the text was cancelled");
  } catch (...) {
    if (s.sequence.committed() > s.history.size()) keep_history();  // as in generate(): the cache holds a part of it
    throw;
  }
  keep_history();
}

void Session::copy_from(Session& from) {
  State &s = *state_, &other = *from.state_;
  if (s.engine != other.engine) fail(Code::invalid_argument, "a session cannot take over the conversation of another engine's");
  if (&s == &other) return;
  s.require_idle();
  other.require_idle();
  s.filled = 0;
  s.sequence.copy_from(other.sequence);
  s.history = other.history;
  s.prompt_end = other.prompt_end;
}

std::unique_ptr<Session> Session::fork() {
  state_->require_idle();
  SessionOptions options = state_->as_given;
  options.progress = {};  // its owner may be gone
  auto session = std::make_unique<Session>(state_->engine, options);
  session->copy_from(*this);
  return session;
}

void Session::save(const std::string& path) {
  State& s = *state_;
  s.require_idle();
  save_conversation(path, s.engine->state(), s.passes.pages(), {s.history, s.sequence.settle(), s.prompt_end, s.sequence.left_layers_out()});
}

void Session::load(const std::string& path) {
  State& s = *state_;
  s.require_idle();
  const SavedConversation saved(path, s.engine->state());
  reset();  // from here on keys and values are neither's
  s.filled = 0;
  saved.restore(s.engine->state(), s.passes);
  s.sequence.resume(saved.conversation().text, saved.conversation().layers_left_out);
  s.history = saved.conversation().history;
  s.prompt_end = saved.conversation().prompt_end;
}

const std::vector<text::Token>& Session::history() const { return state_->history; }
const std::vector<float>& Session::attention_cosine() const { return state_->sequence.cosine; }

const CorpusFacts& Session::corpus() const { return state_->corpus; }

double Session::measure(const Work& work) {
  State& s = *state_;
  s.require_idle();
  check(work, s.sequence.limits());
  const std::uint32_t vocabulary = s.engine->config().vocabulary;
  // The pages stay: what they hold is not made again.
  const auto empty = [&] {
    s.history.clear();
    s.prompt_end = 0;
    s.sequence.resume({});
  };
  empty();
  const std::uint32_t before = std::exchange(s.filled, 0);  // an exception leaves nothing to rely on
  const std::uint32_t known = s.passes.pages().is_complete(std::min(before, work.depth)) ? std::min(before, work.depth) : 0;
  if (known == 0) s.passes.cut(0);
  s.sequence.resume({measured_text(0, known, vocabulary), {{0, known}}});
  if (known < work.depth) s.sequence.prefill(measured_text(known, work.depth - known, vocabulary), false);
  const std::vector<text::Token> tokens = measured_text(work.depth, std::max(work.prompt, std::max(work.rows, 1u)), vocabulary);
  const Stopwatch watch;
  run_work(s.sequence, work, tokens);
  const double seconds = watch.seconds();
  s.filled = std::max(known == 0 ? 0 : before, s.sequence.committed());
  empty();
  return seconds;
}

double Session::agreement(std::size_t count) const {
  const State& s = *state_;
  if (count == 0 || count >= s.history.size()) fail(Code::invalid_argument, "there are no {} tokens to agree with", count);
  exec::Executor passes(*s.engine->state().passes);
  DeviceSequence sequence(passes, s.engine->config(), s.options.sampling, sample::Verification::coupled, Rounds::host);
  const std::span<const text::Token> text(s.history);
  const std::size_t first = text.size() - count;
  std::size_t agreed = sequence.prefill(text.first(first), false).first.token == text[first] ? 1 : 0;
  spec::Verified verified;
  std::vector<std::uint32_t> path;
  for (std::size_t at = first; at + 1 < text.size(); at += path.size()) {
    const auto rows = text.subspan(at, std::min<std::size_t>(sequence.limits().rows, text.size() - 1 - at));
    path.resize(rows.size());
    std::iota(path.begin(), path.end(), 0u);
    sequence.verify(spec::TokenTree::chain(rows[0], rows.subspan(1)), 0, verified);
    sequence.commit(path);
    for (std::size_t i = 0; i < rows.size(); ++i) agreed += verified.choices[i].token == text[at + 1 + i] ? 1 : 0;
  }
  return static_cast<double>(agreed) / static_cast<double>(count);
}

// What stands behind the last token that stays is gone. Where a continuation ends there, that token is pending again, as if the
// continuation had stopped there; behind a prompt there is nothing to go on from but a token more.
void Session::rewind(std::size_t count) {
  State& s = *state_;
  s.require_idle();
  if (count > s.history.size()) {
    fail(Code::invalid_argument, "{} tokens cannot be taken back: the conversation has {}", count, s.history.size());
  }
  if (count == 0) return;
  s.filled = 0;
  const std::size_t stays = s.history.size() - count;
  CommittedText text = s.sequence.text();
  const auto keep = [&](std::size_t tokens) {
    if (text.size() > tokens) text.take_back(static_cast<std::uint32_t>(text.size() - tokens));
  };
  keep(stays);
  if (text.size() == stays && text.ends_in_continuation()) keep(stays - 1);
  s.history.resize(stays);
  s.prompt_end = std::min(s.prompt_end, stays);
  try {
    if (text.size() < s.sequence.committed()) s.sequence.take_back(s.sequence.committed() - text.size());
  } catch (...) {  // reading a text again, of which pages were given back
    s.history.resize(std::min<std::size_t>(stays, s.sequence.committed()));
    s.prompt_end = std::min(s.prompt_end, s.history.size());
    throw;
  }
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
  state_->stepper.reset();
  state_->history.clear();
  state_->prompt_end = 0;
  state_->sequence.clear();
}

}  // namespace skipstone::engine
