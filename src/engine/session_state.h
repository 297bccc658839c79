// What a Session holds, in the order in which it is made; destroyed in reverse.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/platform/files.h"
#include "engine/bigram_table.h"
#include "engine/device_sequence.h"
#include "engine/draft_model.h"
#include "engine/draft_texts.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/measurements.h"
#include "engine/stepper.h"
#include "spec/registry.h"

namespace skipstone::engine {

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

struct Session::State {
  State(std::shared_ptr<Engine> e, const SessionOptions& o)
      : engine(std::move(e)),
        as_given(o),
        options(on_caller(o)),
        drafter(make_drafter()),
        passes(*engine->state().passes),
        sequence(passes, engine->state().config, options.sampling, options.verification, options.rounds, chooses_from_candidates(),
                 drafts_ahead()) {
    engine->state().device->require_alive();
    sequence.use(std::move(draft_models));
    sequence.use(engine->state().prefixes.get());
    const spec::DrafterTraits traits = drafter->traits();
    const bool samples = options.sampling.needs_logits(), ahead = drafts_ahead() && traits.drafts;
    engine->state().make_pipelines(passes,
                                   {.verification = traits.drafts,
                                    .logits = samples || traits.top > 0 || ahead,
                                    .trees = traits.branches || ahead,
                                    .candidates = samples && chooses_from_candidates()},
                                   options.progress);
  }

  bool drafts_ahead() const {
    return passes.near_layers() < engine->state().config.layers && options.draft_ahead.value_or(!engine->state().device->caps().is_cpu());
  }

  bool chooses_from_candidates() const {
    return options.candidates.value_or(engine->state().select->finds_candidates(engine->state().config.vocabulary));
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

  /// A prompt or nothing stands behind the history: what of it is not read yet, and was generated, is read as what it is, so that a
  /// continuation has the same bits wherever it was cut.
  void read_own_tokens() {
    const std::size_t first = std::max<std::size_t>(prompt_end, sequence.committed());
    sequence.own_tokens(static_cast<std::uint32_t>(history.size() - std::min(history.size(), first)));
  }

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
    facts.go_on = [&] { report(options.progress, "making drafters", 0); };
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

}  // namespace skipstone::engine
