#include "engine/device_sequence.h"

#include <utility>

#include "base/status.h"
#include "sample/candidates.h"

namespace skipstone::engine {

using speculation::Choice;
using speculation::Token;

DeviceSequence::DeviceSequence(exec::Executor& passes, const model::Config& config, SequenceOptions options)
    : parts_{.passes = passes,
             .config = config,
             .text = {},
             .verifier = Verifier(options.sampling, options.verification, options.candidates ? config.vocabulary : 0),
             .exits = EarlyExits(passes, config.layer_count()),
             .saved = {},
             .pipelined = PipelinedDrafts(options.pipelined_drafts, config.vocabulary)},
      reader_(parts_, options.prefixes, std::move(options.interrupted)),
      runners_(parts_, std::move(options.draft_models)),
      rounds_(parts_, options.rounds),
      blocks_(parts_),
      exits_(parts_),
      skip_sets_(parts_) {}

speculation::SequenceTimes DeviceSequence::times() const {
  return {parts_.slicer == nullptr ? std::chrono::steady_clock::now() : parts_.slicer->now(),
          parts_.passes.times().device_seconds,
          parts_.passes.times().remote_seconds,
          parts_.pipelined.used_seconds(),
          parts_.pipelined.used(),
          parts_.passes.times().experts};
}

void DeviceSequence::set_slicer(exec::PassSlicer* slicer) {
  parts_.slicer = slicer;
  parts_.passes.set_slicer(slicer);
  runners_.set_slicer(slicer);
}

std::optional<Choice> DeviceSequence::prefill(std::span<const Token> tokens, exec::Cosines cosines) {
  parts_.exits.fill(parts_.text);
  parts_.pipelined.clear();
  parts_.end_round();
  return reader_.read(tokens, cosines);
}

speculation::Prefilled DeviceSequence::prefill(std::span<const Token> tokens, bool attention_cosine) {
  const auto first = prefill(tokens, attention_cosine ? exec::Cosines::attention : exec::Cosines::none);
  speculation::Prefilled result{
      .first = first.value_or(Choice{}), .attention_cosine = {}, .found = reader_.cached(), .interrupted = !first};
  if (first && attention_cosine) result.attention_cosine = parts_.mean_attention_cosine(tokens.size() - result.found);
  return result;
}

void DeviceSequence::verify(const speculation::TokenTree& rows, std::uint32_t top, speculation::Verified& out) {
  exec::Executor& passes = parts_.passes;
  parts_.exits.fill(parts_.text);
  exec::LayerPlan layers = exec::LayerPlan::full(parts_.config.layer_count());
  layers.begin = complete_saved_states(parts_, rows);
  exec::PassSpec spec = parts_.pass(layers, rows.rows());
  spec.tree = !rows.is_chain();
  exec::Rows pass_rows{.tokens = rows.tokens(), .base = parts_.committed(), .parents = rows.parents()};
  parts_.batch.set(rows.tokens(), rows.is_chain() ? std::span<const std::uint32_t>{} : rows.parents());
  if (top > 0) {
    spec.output = exec::Output::logits;
  } else {
    parts_.request(spec, pass_rows);
  }
  const exec::Meanwhile meanwhile = predict_drafts(parts_, rows);
  const double remote_before = passes.times().remote_seconds;
  passes.run(spec, pass_rows, meanwhile);
  out.choices.resize(rows.rows());
  out.top.resize(std::size_t{rows.rows()} * top);
  for (std::uint32_t row = 0; row < rows.rows(); ++row) {
    const std::span<Token> likeliest = std::span(out.top).subspan(std::size_t{row} * top, top);
    if (top > 0) sample::top_k(passes.logits(row), likeliest);
    out.choices[row] = top > 0 && !parts_.verifier.needs_logits() ? choose_of_top(passes.logits(row), likeliest)
                                                                  : parts_.verifier.verify(parts_.text, parts_.batch, row, parts_.results);
  }
  rounds_.record_host_round(rows.rows());
  parts_.end_round(keep_predicted_drafts(parts_, rows, out.choices, passes.times().remote_seconds - remote_before));
  parts_.verified = rows;
}

void DeviceSequence::commit(std::span<const std::uint32_t> path) {
  const auto& verified = parts_.verified;
  if (!verified || path.size() > verified->rows()) {
    fail(Code::internal, "{} rows cannot be kept of a verification of {}", path.size(), verified ? verified->rows() : 0);
  }
  parts_.passes.keep_path(committed(), path);
  for (const std::uint32_t row : path) parts_.text.commit(verified->tokens()[row]);
  parts_.exits.commit();
  parts_.verified.reset();
}

void DeviceSequence::rollback(std::uint32_t tokens) {
  if (tokens > committed()) fail(Code::internal, "{} tokens cannot be taken back of {}", tokens, committed());
  parts_.text.rollback(tokens);
  parts_.exits.rollback(tokens);
  parts_.passes.pages().rollback(committed());
  parts_.verified.reset();
  parts_.pipelined.clear();
  parts_.end_round();
  if (!parts_.passes.pages().is_complete(committed())) reader_.read_again();
}

void DeviceSequence::rerun_last_row(exec::Output output) {
  if (committed() == 0) fail(Code::invalid_argument, "the conversation is empty: there is nothing that logits could follow");
  if (parts_.exits.left_layers_out()) {
    fail(Code::unsupported, "a lossy drafter left layers out, so there are no logits of the whole model after its text");
  }
  // The row may see what was released although the rows after it do not: a recurrent model may have a state at the end alone.
  if (!parts_.passes.pages().is_complete(committed() - 1)) reader_.read_again();
  parts_.exits.fill(parts_.text);
  exec::PassSpec spec = parts_.text.is_continuation(committed() - 1) ? parts_.full_pass(1) : parts_.prompt_pass(1);
  spec.output = output;
  parts_.passes.run(spec, {.tokens = parts_.text.committed().last(1), .base = committed() - 1});
}

std::vector<float> DeviceSequence::logits() {
  rerun_last_row(exec::Output::logits);
  const std::span<const float> row = parts_.passes.logits(0);
  return {row.begin(), row.end()};
}

std::vector<float> DeviceSequence::hidden() {
  rerun_last_row(exec::Output::hidden);
  return parts_.passes.hidden(0);
}

void DeviceSequence::clear() {
  continue_from({});
  parts_.passes.pages().rollback(0);
}

void DeviceSequence::copy_from(DeviceSequence& from) {
  from.finish();
  parts_.passes.pages().share(from.parts_.passes.pages(), from.committed());
  continue_from(from.text(), from.left_layers_out());
}

void DeviceSequence::continue_from(speculation::TokenHistory text, bool left_layers_out) {
  parts_.text = std::move(text);
  parts_.pipelined.clear();
  parts_.end_round();
  parts_.verifier.restart();
  parts_.exits.reset(left_layers_out);
  runners_.forget();
}

}  // namespace skipstone::engine
