#include "report/exactness.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "interrupt.h"
#include "report/fixed_model.h"

namespace cli::report {
namespace {

constexpr std::uint32_t prompt_tokens = 32, text_tokens = 96;

std::vector<skipstone_token> fixed_prompt(std::uint32_t vocabulary) {
  std::vector<skipstone_token> tokens;
  for (std::uint64_t i = 0; i < prompt_tokens; ++i) tokens.push_back(static_cast<skipstone_token>(skipstone::split_mix(i) % vocabulary));
  return tokens;
}

struct Text {
  std::string hash;
  skipstone_stats stats{};
};

/// Generates by sampling, since greedy texts of random weights soon repeat themselves. Coupled verification promises the same text.
Text sample(const skipstone::Engine& engine, const char* draft) {
  skipstone_session_params params = skipstone::session_params();
  params.draft = draft;
  params.temperature = 1;
  params.seed = 1;
  params.ignore_end = 1;
  skipstone::Session session(engine, params);
  const interrupt::Interruptible interruptible(session);
  Text text;
  text.stats = session.generate(fixed_prompt(engine.info().vocabulary), text_tokens);
  skipstone::Fnv1a hash;
  for (const skipstone_token token : session.tokens()) hash.add(static_cast<std::uint64_t>(token));
  text.hash = fmt::format("{:016x}", hash.value());
  return text;
}

}  // namespace

Exactness measure_exactness(const skipstone::Engine& engine) {
  Exactness result;
  result.model = fixed_model_name;
  result.draft = fmt::format("exit:{},k=4", engine.info().layers - 1);
  result.tokens = text_tokens;
  const Text plain = sample(engine, "none"), drafted = sample(engine, result.draft.c_str());
  result.plain = plain.hash;
  result.drafts = drafted.hash;
  result.drafted = drafted.stats.drafted;
  result.accepted = drafted.stats.accepted;
  result.equal = plain.hash == drafted.hash;
  return result;
}

}  // namespace cli::report
