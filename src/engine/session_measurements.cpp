#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/philox.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "engine/session_state.h"

namespace skipstone::engine {
namespace {

/// Token `position` of the text that measurements read: arbitrary, but the same each time.
std::vector<text::Token> measured_text(std::uint32_t first, std::uint32_t count, std::uint32_t vocabulary) {
  std::vector<text::Token> tokens(count);
  for (std::uint32_t i = 0; i < count; ++i) tokens[i] = static_cast<text::Token>(philox({first + i, 0, 0, 0}, {0, 0})[0] % vocabulary);
  return tokens;
}

void check(const Work& work, const speculation::SequenceLimits& limits) {
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
    fail(Code::invalid_argument, "{} tokens are to be measured after {} in the cache, which is more than the context of {}",
         tokens - work.depth, work.depth, limits.context);
  }
}

speculation::Choice read(DeviceSequence& sequence, std::span<const text::Token> tokens) {
  const speculation::Prefilled prefilled = sequence.prefill(tokens, false);
  if (prefilled.interrupted) fail(Code::cancelled, "reading the text was cancelled");
  return prefilled.first;
}

void run_work(DeviceSequence& sequence, const Work& work, const std::vector<text::Token>& tokens) {
  const std::span<const text::Token> all(tokens);
  if (work.chains > 0) {
    std::vector<std::vector<speculation::Choice>> of_chains(work.chains, std::vector<speculation::Choice>(work.rows));
    return sequence.extensions().blocks->verify_block(std::vector(work.chains, std::vector(all.begin(), all.begin() + work.rows)),
                                                      of_chains);
  }
  speculation::Verified verified;
  if (work.rows > 0) return sequence.verify(speculation::TokenTree::chain(all[0], all.subspan(1)), 0, verified);
  text::Token next = tokens.front();
  if (work.prompt > 0) next = read(sequence, all.first(work.prompt)).token;
  for (std::uint32_t i = 0; i < work.generate; ++i) {  // as plain decoding does
    sequence.verify(speculation::TokenTree(next), 0, verified);
    sequence.commit(std::array{0u});
    next = verified.choices[0].token;
  }
}

}  // namespace

double Session::measure(const Work& work) {
  State& s = *state_;
  s.require_idle();
  check(work, s.sequence.limits());
  if (work.rows > 1 || work.chains > 0) {
    s.engine->state().make_pipelines({true, s.options.sampling.needs_logits(), work.chains > 0}, s.options.progress);
  }
  const std::uint32_t vocabulary = s.engine->config().vocabulary;
  // The pages are kept, so their keys and values need not be computed again.
  const auto empty = [&] {
    s.prompt_end = 0;
    s.sequence.continue_from({});
  };
  empty();
  std::uint32_t before = std::exchange(s.filled, 0);  // after an exception the cache is not valid
  if (!s.passes.pages().is_complete(std::min(before, work.depth))) {
    s.passes.pages().rollback(0);
    before = 0;
  }
  const std::uint32_t known = std::min(before, work.depth);
  s.sequence.continue_from({measured_text(0, known, vocabulary), known, {{0, known}}});
  try {
    if (known < work.depth) read(s.sequence, measured_text(known, work.depth - known, vocabulary));
    const std::vector<text::Token> tokens = measured_text(work.depth, std::max(work.prompt, std::max(work.rows, 1u)), vocabulary);
    const Stopwatch watch;
    run_work(s.sequence, work, tokens);
    const double seconds = watch.seconds();
    s.filled = std::max(before, s.sequence.committed());
    empty();
    return seconds;
  } catch (...) {
    empty();  // the tokens read are not part of the history
    throw;
  }
}

double Session::agreement(std::size_t count) const {
  State& s = *state_;
  const std::span<const text::Token> text(s.sequence.text().tokens());
  if (count == 0 || count >= text.size()) fail(Code::invalid_argument, "there are no {} tokens to agree with", count);
  exec::Executor passes(*s.engine->state().passes);
  DeviceSequence sequence(passes, s.engine->config(), {.sampling = s.options.sampling});
  const std::size_t first = text.size() - count;
  std::size_t agreed = sequence.prefill(text.first(first), false).first.token == text[first] ? 1 : 0;
  speculation::Verified verified;
  std::vector<std::uint32_t> path;
  for (std::size_t at = first; at + 1 < text.size(); at += path.size()) {
    const auto rows = text.subspan(at, std::min<std::size_t>(sequence.limits().rows, text.size() - 1 - at));
    path.resize(rows.size());
    std::iota(path.begin(), path.end(), 0u);
    sequence.verify(speculation::TokenTree::chain(rows[0], rows.subspan(1)), 0, verified);
    sequence.commit(path);
    for (std::size_t i = 0; i < rows.size(); ++i) agreed += verified.choices[i].token == text[at + 1 + i] ? 1 : 0;
  }
  return static_cast<double>(agreed) / static_cast<double>(count);
}

void Session::score(const std::vector<text::Token>& tokens, const speculation::Emit& emit) const {
  State& s = *state_;
  s.require_idle();
  const std::span<const text::Token> text(tokens);
  if (text.size() > s.sequence.limits().context)
    fail(Code::invalid_argument, "the text has {} tokens, but the context holds {}", text.size(), s.sequence.limits().context);
  if (text.size() < 2) return;
  // A sampler that chooses the text's own tokens: the log-probabilities of its choices are the text's.
  sample::SamplerParams own;
  own.rule = [text](std::span<const float>, std::span<const text::Token> history) { return text[history.size()]; };
  own.top_logprobs = std::max(0, s.options.sampling.top_logprobs);
  s.engine->state().make_pipelines({.verification = true, .logits = true}, {});
  exec::Executor passes(*s.engine->state().passes);
  DeviceSequence sequence(passes, s.engine->config(), {.sampling = own, .interrupted = [&s] { return s.is_cancelled(); }});
  const auto emit_choice = [&](const speculation::Choice& choice) {
    if (s.is_cancelled() || !emit({.token = choice.token, .logprobs = choice.logprobs.get()}))
      fail(Code::cancelled, "scoring the text was cancelled");
  };
  emit_choice(read(sequence, text.first(1)));
  speculation::Verified verified;
  std::vector<std::uint32_t> path;
  for (std::size_t at = 1; at + 1 < text.size(); at += path.size()) {
    const auto rows = text.subspan(at, std::min<std::size_t>(sequence.limits().rows, text.size() - 1 - at));
    path.resize(rows.size());
    std::iota(path.begin(), path.end(), 0u);
    sequence.verify(speculation::TokenTree::chain(rows[0], rows.subspan(1)), 0, verified);
    sequence.commit(path);
    for (const speculation::Choice& choice : verified.choices) emit_choice(choice);
  }
}

}  // namespace skipstone::engine
