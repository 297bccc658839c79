#include "options/session_options.h"

#include <fmt/format.h>

#include "base/platform/files.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "prompts/prompts.h"
#include "terminal/exit_code.h"
#include "terminal/output.h"

namespace cli {

std::string drafters_help() {
  std::string text = "Drafters:\n";
  for (const skipstone_drafter_info& info : skipstone::drafters()) {
    text += fmt::format("  {:<12}{}\n", info.name, info.summary);
    if (*info.options != '\0') text += fmt::format("              {}:{}\n", info.name, info.options);
  }
  return text + "A+B: A, and B in the rounds in which A has nothing good, as suffix:min=3+asd:k=4.\n";
}

std::string drafters_note() {
  std::string names;
  for (const skipstone_drafter_info& info : skipstone::drafters()) names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  return fmt::format("Drafters: {}; `skipstone help drafters` explains them and their options.\n", names);
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
      ->type_name("FILE")
      ->group(advanced_group);
  command.add_flag("--draft-optional", options.optional, "Go on without a drafter that cannot be used, with a warning")
      ->envname("SKIPSTONE_DRAFT_OPTIONAL")
      ->group(advanced_group);
}

skipstone::Session make_session(const skipstone::Engine& engine, const skipstone_session_params& params) {
  Progress progress;
  try {
    return skipstone::Session(engine, params, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "interrupted before anything was generated");
    throw;
  }
}

void SamplingOptions::recommend(const skipstone::Engine& engine, skipstone_session_params& params) const {
  skipstone_session_params recommended = params;
  skipstone::check(skipstone_session_params_recommend(engine.get(), &recommended));
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == nullptr || !options[i]->empty()) continue;
    copy_value(sampling_fields[i], recommended, params);
    if (sampling_fields[i].name == "repeat_penalty") params.repeat_last = recommended.repeat_last;
  }
}

SamplingOptions add_sampling_options(CLI::App& command, skipstone_session_params& params, const char* group) {
  const auto add = [&](const char* name, auto& value, const char* help, const char* variable) {
    return add_number(command, name, value, help)->envname(variable)->capture_default_str()->group(group);
  };
  SamplingOptions given;
  for (std::size_t i = 0; i < sampling_fields.size(); ++i) {
    const SamplingField& field = sampling_fields[i];
    if (field.option == nullptr) continue;
    given.options[i] = with_value(field, params, [&](auto& value) { return add(field.option, value, field.help, field.variable); });
  }
  add("--seed", params.seed, "Same seed, same text", "SKIPSTONE_SEED");
  return given;
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
      ->type_name("WAY")
      ->group(advanced_group);
  command
      .add_option_function<std::string>(
          "--pipeline-drafts",
          [&params](const std::string& value) { params.pipeline_drafts = value == "auto" ? -1
                                                                         : value == "on" ? 1
                                                                                         : 0; },
          "With --devices: on: the first device drafts the next round while a verification is at the others; off: it waits; auto: on for "
          "GPUs")
      ->envname("SKIPSTONE_PIPELINE_DRAFTS")
      ->default_str("auto")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->type_name("SWITCH")
      ->group(advanced_group);
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
      ->group(advanced_group);
}

std::vector<CLI::Option*> add_chat_options(CLI::App& command, ChatOptions& options) {
  const char* group = "Conversation";
  return {command.add_option("--system", options.system, "System message: what the model is to be or to do")
              ->envname("SKIPSTONE_SYSTEM")
              ->type_name("TEXT")
              ->group(group),
          command.add_option("--chat-template", options.chat_template, "A file with a Jinja template, or a name; default: the model's own")
              ->envname("SKIPSTONE_CHAT_TEMPLATE")
              ->type_name("FILE|NAME")
              ->group(group)};
}

void add_stop_option(CLI::App& command, std::vector<std::string>& stop) {
  command.add_option("--stop", stop, "End before this text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string read_chat_template(const std::string& file_or_name) {
  const bool file = !file_or_name.empty() && skipstone::platform::is_there(file_or_name);
  return file ? read_text(file_or_name, "the chat template") : file_or_name;
}

}  // namespace cli
