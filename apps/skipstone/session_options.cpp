#include "session_options.h"

#include <fmt/format.h>

#include "exit_code.h"
#include "interrupt.h"
#include "number_option.h"
#include "progress.h"

namespace cli {

std::string drafters_help() {
  std::string text = "Drafters:\n";
  for (const skipstone_drafter_info& info : skipstone::drafters()) {
    text += fmt::format("  {:<10}{}\n", info.name, info.summary);
    if (*info.options != '\0') text += fmt::format("            {}:{}\n", info.name, info.options);
  }
  return text + "A+B: A, and B in the rounds in which A has nothing good, as suffix:min=3+asd:k=4.\n";
}

void DraftOptions::give_to(skipstone_session_params& params) {
  files_.clear();
  for (const std::string& file : corpus) files_.push_back(file.c_str());
  params.draft_corpus = files_.data();
  params.draft_corpus_count = files_.size();
  params.draft_optional = optional ? 1 : 0;
}

void add_draft_options(CLI::App& command, DraftOptions& options) {
  command.add_option("--draft-corpus", options.corpus, "Text files that drafter suffix looks drafts up in, beside the text itself")
      ->envname("SKIPSTONE_DRAFT_CORPUS")
      ->type_name("FILE");
  command.add_flag("--draft-optional", options.optional, "Go on without a drafter that cannot be used, with a warning")
      ->envname("SKIPSTONE_DRAFT_OPTIONAL");
}

skipstone::Session make_session(const skipstone::Engine& engine, const skipstone_session_params& params) {
  Progress progress;
  try {
    return skipstone::Session(engine, params, [&progress](const char* stage, double done) {
      progress.update(stage, done);
      return !interrupt::requested();
    });
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) throw Failure(ExitCode::interrupted, "interrupted before anything was generated");
    throw;
  }
}

void add_sampling_options(CLI::App& command, skipstone_session_params& params) {
  const char* group = "Sampling";
  add_number(command, "--temp", params.temperature, "Temperature; 0 is greedy: the likeliest token, always")
      ->envname("SKIPSTONE_TEMP")
      ->capture_default_str()
      ->group(group);
  add_number(command, "--top-k", params.top_k, "Sample from the K likeliest tokens; 0: off")
      ->envname("SKIPSTONE_TOP_K")
      ->capture_default_str()
      ->group(group);
  add_number(command, "--top-p", params.top_p, "Sample from the likeliest tokens that make up P together; 1: off")
      ->envname("SKIPSTONE_TOP_P")
      ->capture_default_str()
      ->group(group);
  add_number(command, "--min-p", params.min_p, "Leave out tokens below P times the likeliest one's probability; 0: off")
      ->envname("SKIPSTONE_MIN_P")
      ->capture_default_str()
      ->group(group);
  add_number(command, "--repeat-penalty", params.repeat_penalty, "Penalty on tokens of the last 64; 1: off")
      ->envname("SKIPSTONE_REPEAT_PENALTY")
      ->capture_default_str()
      ->group(group);
  add_number(command, "--seed", params.seed, "Same seed, same text")->envname("SKIPSTONE_SEED")->capture_default_str()->group(group);
}

void add_rounds_option(CLI::App& command, skipstone_session_params& params) {
  const auto set = [&params](const std::string& way) {
    params.rounds = way == "host" ? SKIPSTONE_ROUNDS_HOST : way == "device" ? SKIPSTONE_ROUNDS_DEVICE : SKIPSTONE_ROUNDS_AUTOMATIC;
  };
  command
      .add_option_function<std::string>(
          "--rounds", set, "Greedy drafts and their verification: stepped by the host, one submission to the device, or the faster (auto)")
      ->envname("SKIPSTONE_ROUNDS")
      ->default_str("auto")
      ->check(CLI::IsMember({"auto", "host", "device"}))
      ->type_name("WAY");
}

void add_verify_option(CLI::App& command, skipstone_session_params& params) {
  const auto set = [&params](const std::string& way) {
    params.verify = way == "rejection" ? SKIPSTONE_VERIFY_REJECTION : SKIPSTONE_VERIFY_COUPLED;
  };
  command
      .add_option_function<std::string>("--verify", set,
                                        "How drafts are accepted when sampling: coupled gives the text of plain decoding with this seed, "
                                        "rejection its distribution")
      ->envname("SKIPSTONE_VERIFY")
      ->default_str("coupled")
      ->check(CLI::IsMember({"coupled", "rejection"}))
      ->type_name("WAY")
      ->group("Sampling");
}

}  // namespace cli
