#include "engine/draft_runners.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::DraftSource;
using speculation::LayerPass;
using speculation::PredictionHead;
using speculation::SecondModel;
using speculation::Token;
using speculation::WindowPass;

namespace {

std::uint32_t offset_of(std::span<const Token> inputs) { return static_cast<std::uint32_t>(inputs.size()) - 1; }

class LayerRunner final : public DraftRunner {
 public:
  explicit LayerRunner(SequenceParts& parts) : parts_(parts) {}

  Choice draft(const DraftSource& source, std::span<const Token> inputs) override {
    const auto& pass = static_cast<const LayerPass&>(source);
    const std::uint32_t offset = offset_of(inputs), prefix = pass.plan.whole_prefix();
    if (offset == 0) begin(pass);
    if (const Choice* made = predicted(pass, inputs)) return *made;
    parts_.batch.set(inputs, {}, offset);
    exec::PassSpec spec = parts_.pass(pass.plan, 1);
    exec::Rows rows{.tokens = inputs.last(1), .base = parts_.committed() + offset, .kept = offset};
    parts_.request(spec, rows);
    if (parts_.saved.take(prefix, offset, inputs.back())) spec.keep_after = prefix;
    if (parts_.pipelined.begun()) return observed_draft(spec, rows, inputs);
    parts_.passes.run(spec, rows);
    return parts_.verifier.draft(parts_.text, parts_.batch, parts_.results);
  }

 private:
  void begin(const LayerPass& pass) {
    exec::Executor& passes = parts_.passes;
    parts_.exits.fill(parts_.text);
    // With concurrent sequences, a batched pass over all layers costs less than one that starts from saved hidden states.
    const bool alone = !passes.has_concurrent_sequences();
    parts_.saved.keep_predicted(parts_.saved.predicted() && passes.hidden_states().held());
    parts_.saved.begin(pass.keep_prefix && alone && passes.hidden_states().acquire(false) ? pass.plan.whole_prefix() : 0);
    PipelinedDrafts& pipelined = parts_.pipelined;
    if (alone && parts_.slicer == nullptr && !parts_.verifier.rejects() && pipelined.can_make(pass, passes.model().local_layers())) {
      pipelined.begin(pass);
    } else {
      pipelined.clear();
    }
  }

  /// The draft that was made while the last verification was on remote devices; null if there is none.
  const Choice* predicted(const LayerPass& pass, std::span<const Token> inputs) {
    const std::uint32_t offset = offset_of(inputs);
    const Choice* made = parts_.pipelined.take(pass, inputs.back(), offset, parts_.committed() + offset);
    if (made != nullptr && parts_.saved.predicted()) parts_.saved.take(pass.plan.whole_prefix(), offset, inputs.back());
    return made;
  }

  /// A draft whose logits say which drafts the next round may need.
  Choice observed_draft(exec::PassSpec spec, const exec::Rows& rows, std::span<const Token> inputs) {
    spec.output = exec::Output::logits;
    const double before = parts_.passes.times().device_seconds;
    parts_.passes.run(spec, rows);
    parts_.pipelined.record_time(spec.bucket, parts_.passes.times().device_seconds - before);
    const std::span<const float> logits = parts_.passes.logits(0);
    Choice choice = number_or_none([&] { return parts_.verifier.choose_by_logits(parts_.text, inputs, logits); });
    parts_.pipelined.observe(offset_of(inputs), logits);
    return choice;
  }

  SequenceParts& parts_;
};

class WindowRunner final : public DraftRunner {
 public:
  explicit WindowRunner(SequenceParts& parts) : parts_(parts) {}

  Choice draft(const DraftSource& source, std::span<const Token> inputs) override {
    const std::uint32_t offset = offset_of(inputs);
    parts_.pipelined.clear();
    parts_.batch.set(inputs, {}, offset);
    if (offset == 0) parts_.exits.fill(parts_.text);
    exec::PassSpec spec = parts_.full_pass(1);
    spec.window = true;
    parts_.run_batch(
        spec, {.tokens = inputs.last(1), .base = parts_.committed() + offset, .window = static_cast<const WindowPass&>(source).window});
    return parts_.verifier.draft(parts_.text, parts_.batch, parts_.results);
  }

 private:
  SequenceParts& parts_;
};

class HeadRunner final : public DraftRunner {
 public:
  explicit HeadRunner(SequenceParts& parts) : parts_(parts) {}

  // The hidden state that a draft starts from is a record of the position before it: of a pass of the whole model, or of the last draft.
  Choice draft(const DraftSource&, std::span<const Token> inputs) override {
    const std::uint32_t offset = offset_of(inputs);
    parts_.pipelined.clear();
    parts_.batch.set(inputs, {}, offset);
    if (offset == 0) parts_.exits.fill(parts_.text);
    exec::PassSpec spec = parts_.pass({}, 1);
    spec.predicts = true;
    parts_.run_batch(spec, {.tokens = inputs.last(1), .base = parts_.committed() + offset});
    return parts_.verifier.draft(parts_.text, parts_.batch, parts_.results);
  }

 private:
  SequenceParts& parts_;
};

class ModelRunner final : public DraftRunner {
 public:
  ModelRunner(SequenceParts& parts, std::vector<std::unique_ptr<DraftModel>> models) : parts_(parts), models_(std::move(models)) {}

  Choice draft(const DraftSource& source, std::span<const Token> inputs) override {
    DraftModel& model = *models_.at(static_cast<const SecondModel&>(source).number);
    parts_.pipelined.clear();
    parts_.batch.set(inputs, {}, offset_of(inputs));
    parts_.verifier.request(parts_.text, parts_.batch);
    LastPass results(
        parts_.text.with_path(inputs, [&](std::span<const Token> text) { return std::ref(model.follow(text, parts_.verifier.output())); }));
    return parts_.verifier.draft(parts_.text, parts_.batch, results);
  }

  void forget() override {
    for (const auto& model : models_) model->forget();
  }
  void set_slicer(exec::PassSlicer* slicer) override {
    for (const auto& model : models_) model->set_slicer(slicer);
  }

 private:
  SequenceParts& parts_;
  std::vector<std::unique_ptr<DraftModel>> models_;
};

}  // namespace

DraftRunners::DraftRunners(SequenceParts& parts, std::vector<std::unique_ptr<DraftModel>> models) {
  runners_.push_back({LayerPass::name, std::make_unique<LayerRunner>(parts)});
  runners_.push_back({WindowPass::name, std::make_unique<WindowRunner>(parts)});
  if (!parts.config.prediction_layers.empty()) runners_.push_back({PredictionHead::name, std::make_unique<HeadRunner>(parts)});
  runners_.push_back({SecondModel::name, std::make_unique<ModelRunner>(parts, std::move(models))});
}

Choice DraftRunners::draft(const DraftSource& source, Token input, std::uint32_t offset) {
  const auto found = std::ranges::find(runners_, source.key(), &Entry::key);
  if (found == runners_.end()) fail(Code::unsupported, "this sequence has no drafts of '{}'", source.key());
  inputs_.resize(offset);
  inputs_.push_back(input);
  return found->runner->draft(source, inputs_);
}

void DraftRunners::forget() {
  for (const Entry& entry : runners_) entry.runner->forget();
}

void DraftRunners::set_slicer(exec::PassSlicer* slicer) {
  for (const Entry& entry : runners_) entry.runner->set_slicer(slicer);
}

/// Rows that no draft pass has read (the last draft) go through the first layers now.
std::uint32_t complete_saved_states(SequenceParts& parts, const speculation::TokenTree& rows) {
  const std::uint32_t layers = parts.saved.layers();
  if (layers == 0 || !rows.is_chain()) return 0;
  const std::uint32_t known = parts.saved.known(rows.tokens());
  if (known == 0) return 0;
  if (known < rows.rows()) {
    const std::span<const Token> rest = rows.tokens().subspan(known);
    exec::LayerPlan first = exec::LayerPlan::full(parts.config.layer_count());
    first.end = layers;
    exec::PassSpec spec = parts.pass(first, rest.size());
    spec.output = exec::Output::none;
    spec.keep_after = layers;
    parts.passes.run(spec, {.tokens = rest, .base = parts.committed() + known, .kept = known});
  }
  return layers;
}

exec::Meanwhile predict_drafts(SequenceParts& parts, const speculation::TokenTree& rows) {
  const std::uint32_t committed = parts.committed(), end = committed + PipelinedDrafts::most_rows();
  if (!parts.pipelined.begun() || !rows.is_chain() || rows.drafts() == 0 || end >= parts.passes.model().shape.context) return {};
  parts.passes.reserve(committed, end);
  return [&parts, &rows](exec::PipelineRunner& runner) {
    parts.pipelined.make(runner, parts.passes.pages(), {parts.text, parts.verifier, rows, parts.saved.layers()});
  };
}

bool keep_predicted_drafts(SequenceParts& parts, const speculation::TokenTree& rows, std::span<const Choice> choices,
                           double remote_seconds) {
  const PipelinedDrafts::Made made = parts.pipelined.check(rows, choices, remote_seconds);
  if (made.path.empty()) return false;
  const bool saved = parts.saved.layers() > 0;
  parts.passes.move_here(parts.committed(), made.path, made.to, saved);
  return saved;
}

}  // namespace skipstone::engine
