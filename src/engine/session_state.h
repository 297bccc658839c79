// The state of a Session, in order of construction; destroyed in reverse.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/platform/files.h"
#include "engine/bigram_table.h"
#include "engine/device_sequence.h"
#include "engine/draft_inputs.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/measurements.h"
#include "engine/step_runner.h"
#include "speculation/registry.h"

namespace skipstone::engine {

// Keeps the prompt's cosines for the caller.
class CosineKeeper : public DeviceSequence {
 public:
  using DeviceSequence::DeviceSequence;
  speculation::Prefilled prefill(std::span<const speculation::Token> tokens, bool attention_cosine) override {
    speculation::Prefilled prefilled = DeviceSequence::prefill(tokens, attention_cosine);
    cosine = prefilled.attention_cosine;
    return prefilled;
  }
  std::vector<float> cosine;
};

struct Session::State {
  State(std::shared_ptr<Engine> e, const SessionOptions& o)
      : engine(std::move(e)),
        as_given(o),
        constraint(make_constraint()),
        options(with_constraint(on_caller(o))),
        drafter(make_drafter()),
        passes(*engine->state().passes),
        sequence(passes, engine->state().model->config, sequence_options()) {
    engine->state().model->device->require_alive();
    const speculation::DrafterTraits traits = drafter->traits();
    const bool samples = options.sampling.needs_logits(), ahead = pipelined_drafts() && traits.drafts;
    engine->state().make_pipelines({.verification = traits.drafts,
                                    .logits = samples || traits.top > 0 || ahead,
                                    .trees = traits.branches || ahead,
                                    .candidates = samples && chooses_from_candidates()},
                                   options.progress);
  }

  SequenceOptions sequence_options() {
    return {.sampling = options.sampling,
            .verification = options.verification,
            .rounds = options.rounds,
            .candidates = chooses_from_candidates(),
            .pipelined_drafts = pipelined_drafts(),
            .prefixes = engine->state().caches.prefixes.get(),
            .interrupted = [this] { return is_cancelled(); },
            .draft_models = std::move(draft_models)};
  }

  bool is_cancelled() const { return cancelled && cancelled(); }

  bool pipelined_drafts() const {
    return passes.model().local_layers() < engine->state().model->config.layer_count() &&
           options.pipeline_drafts.value_or(!engine->state().model->device->caps().is_cpu());
  }

  bool chooses_from_candidates() const {
    return options.candidates.value_or(engine->state().model->select->finds_candidates(engine->state().model->config.vocabulary));
  }

  /// Null without a grammar.
  std::unique_ptr<GrammarConstraint> make_constraint() const {
    if (!as_given.grammar) return nullptr;
    const char* const other = as_given.ignore_end                      ? "ends that are ignored"
                              : !as_given.synthetic_acceptance.empty() ? "synthetic acceptance, with which no text ends"
                              : as_given.sampling.rule                 ? "a sampler of the caller's"
                                                                       : nullptr;
    if (other != nullptr) fail(Code::invalid_argument, "a grammar ends its texts and masks their tokens; it does not go with {}", other);
    const text::Tokenizer& tokenizer = engine->tokenizer();
    return std::make_unique<GrammarConstraint>(as_given.grammar,
                                               engine->state().caches.token_bytes.of(tokenizer, as_given.grammar->markers()), tokenizer);
  }

  SessionOptions with_constraint(SessionOptions given) const {
    if (constraint) given.sampling.allowed = [this](std::span<const text::Token> text) { return constraint->allowed(text); };
    return given;
  }

  /// The caller's sampler runs on the caller's thread, even if the generation has its own thread.
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

  /// A prompt or nothing follows the first `known` tokens of the text. Generated ones of these that are not read yet are read as a
  /// continuation, so that it has the same bits wherever it was stopped.
  void read_own_tokens(std::size_t known) {
    const std::size_t first = std::max<std::size_t>(prompt_end, sequence.committed());
    sequence.own_tokens(static_cast<std::uint32_t>(known - std::min(known, first)));
  }

  /// Throws if a generation of begin() has not ended.
  void require_idle() const {
    if (step_runner) {
      fail(Code::invalid_argument, "a generation of this session has begun and not ended; step until it is done, or reset the session");
    }
  }

  /// Also fills `draft_models` and, if the drafter uses it, `corpus`.
  std::unique_ptr<speculation::Drafter> make_drafter() {
    speculation::ModelFacts facts{.layers = engine->config().layer_count(), .exit_layer = engine->config().exit_layer};
    facts.heads = static_cast<std::uint32_t>(engine->config().prediction_layers.size());
    if (const model::Experts* experts = engine->config().experts()) facts.experts_used = experts->used;
    if (constraint) facts.forced = [this](std::span<const text::Token> text, std::size_t most) { return constraint->forced(text, most); };
    facts.fingerprint = engine->model_fingerprint();
    if (platform::is_there(engine->state().file.profile)) facts.profile = engine->state().file.profile;
    facts.go_on = [&] { report(options.progress, "making drafters", 0); };
    facts.costs = [&] { return round_costs_of(engine->state(), options.progress); };
    facts.bigrams = [&] { return bigrams_of(engine->state(), options.progress); };
    facts.unigrams = [&] { return unigrams_of(engine->state(), options.progress); };
    if (engine->has_tokenizer()) {
      facts.read_text = [&](const std::string& file) { return read_text_tokens(engine->tokenizer(), file, "document", options.progress); };
    }
    if (!options.draft_corpus.empty()) {
      facts.corpus = [&] {
        if (!engine->has_tokenizer()) fail(Code::unsupported, "{} has no tokenizer, so no corpus can be read", engine->config().name);
        const IndexedCorpus indexed = engine->state().caches.corpus.of(engine->tokenizer(), options.draft_corpus, options.progress);
        corpus = indexed.facts;
        return indexed.index;
      };
    }
    facts.load_model = [&](const std::string& file) {
      draft_models.push_back(std::make_unique<DraftModel>(load_draft_model(*engine, file, options.progress)));
      return static_cast<std::uint32_t>(draft_models.size() - 1);
    };
    return speculation::make_drafter(options.draft, facts, options.left_out);
  }

  std::shared_ptr<Engine> engine;
  SessionOptions as_given;  ///< for fork()
  std::unique_ptr<GrammarConstraint> constraint;
  SessionOptions options;
  CorpusFacts corpus;
  std::function<bool()> cancelled;
  std::optional<std::size_t> length_before;               ///< of the text, before the generation or prefill() that runs
  std::vector<std::unique_ptr<DraftModel>> draft_models;  ///< until the sequence takes them
  std::unique_ptr<speculation::Drafter> drafter;
  exec::Executor passes;
  CosineKeeper sequence;                    ///< has the text, which the session appends to
  std::size_t prompt_end = 0;               ///< tokens of the text from here on are a continuation
  std::uint32_t filled = 0;                 ///< positions whose keys and values are in the cache from measurements
  speculation::Outcome outcome;             ///< of the generation of begin(), once it has ended
  StepRunner* stepping = nullptr;           ///< the step runner whose body is running; null if none
  std::unique_ptr<StepRunner> step_runner;  ///< last: its body uses all of the above
};

}  // namespace skipstone::engine
