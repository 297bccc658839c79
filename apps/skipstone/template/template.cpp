// skipstone template: the prompt that a model would get for a conversation, and templates alone.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "json/json.h"
#include "json/json_parts.h"
#include "options/engine_options.h"
#include "options/environment.h"
#include "prompts/prompts.h"
#include "skipstone/chat.hpp"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::SortedJson;

struct TemplateOptions {
  std::string model, messages, tools, options, chat_template, pre;
  std::string jinja, variables, now;
  std::string colour = "auto";
  bool json = false, continues = false, no_generation_prompt = false;
};

std::string read_if_given(const std::string& file, const std::string& what) { return file.empty() ? std::string() : read_text(file, what); }

void render_alone(const TemplateOptions& options) {
  const std::string source = read_text(options.jinja, "the template");
  const std::string variables = read_if_given(options.variables, "the variables");
  skipstone_template_params params = skipstone::template_params();
  params.source = source.c_str();
  params.source_bytes = source.size();
  params.variables = variables.c_str();
  params.variables_bytes = variables.size();
  params.now = options.now.empty() ? nullptr : options.now.c_str();
  params.continue_final_message = options.continues ? 1 : 0;
  Output(false).write(skipstone::render_template(params));
}

/// The options of the file, in their order, with those of the command line.
std::string options_json(const TemplateOptions& options) {
  const std::string text = options.options.empty() ? "{}" : read_text(options.options, "the options");
  if (!SortedJson::parse(text, nullptr, false).is_object())
    fail(ExitCode::usage, "the options in '{}' are no JSON object", options.options);
  std::vector<std::pair<std::string, std::string>> more;
  if (options.no_generation_prompt) more.emplace_back("add_generation_prompt", "false");
  if (options.continues) more.emplace_back("continue_final_message", "true");
  if (!options.now.empty()) more.emplace_back("now", SortedJson(options.now).dump());
  return skipstone::json_object_with(text, more);
}

/// The name of a known template itself; else the text of the file of that name.
std::string template_text(const std::string& wanted) {
  const std::string names = ", " + std::string(skipstone_chat_templates()) + ", ";
  const bool known =
      wanted.empty() || wanted == "model" || wanted.rfind("model:", 0) == 0 || names.find(", " + wanted + ", ") != std::string::npos;
  return known ? wanted : read_text(wanted, "the chat template");
}

skipstone::Chat open_chat(const TemplateOptions& options) {
  const std::string wanted = template_text(options.chat_template);
  try {
    skipstone::Chat chat = skipstone::Chat::open(model_path(options.model), wanted, options.pre);
    if (const char* const error = chat.info().error; *error != '\0') fail(ExitCode::bad_model, "{}", error);
    return chat;
  } catch (const skipstone::error& error) {
    fail(exit_code(error.status(), true), "{}", error.what());
  }
}

/// Shows special tokens in brackets that no keyboard has, or in colour, so that they differ from text that only looks like one.
void print_pieces(const SortedJson& document, const std::string& colour) {
  Output output(wants_colour(colour));
  for (const SortedJson& piece : document["pieces"]) {
    const auto text = piece["text"].get<std::string>();
    if (piece.contains("token")) {
      output.write("\u27E6" + text + "\u27E7", Style::green);
    } else {
      output.write(text, piece["origin"] == "data" ? Style::plain : Style::dim);
    }
  }
  output.write("\n");
}

void show_conversation(const TemplateOptions& options) {
  const std::string messages = read_text(options.messages, "the messages");
  const std::string tools = read_if_given(options.tools, "the tools");
  const std::string how = options_json(options);
  const std::string document = open_chat(options).show(messages, tools, how);
  if (options.json) {
    Output(false).write(document + "\n");
  } else {
    print_pieces(SortedJson::parse(document), options.colour);
  }
}

void run_template(const TemplateOptions& options) {
  if (!options.jinja.empty()) {
    if (!options.messages.empty() || !options.model.empty()) {
      fail(ExitCode::usage, "--jinja renders a template alone; --model and --messages do not go with it");
    }
    return render_alone(options);
  }
  if (options.messages.empty()) fail(ExitCode::usage, "--messages FILE.json is missing; or give --jinja FILE for a template alone");
  if (!options.variables.empty()) fail(ExitCode::usage, "--variables are for --jinja; a model's template gets --messages");
  show_conversation(options);
}

}  // namespace

void add_template(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("template", "Show what a model would see of a conversation; needs no device");
  const auto options = std::make_shared<TemplateOptions>();
  CLI::Option* const model = add_model_option(*command, options->model);
  add_pre_option(*command, options->pre);
  command->add_option("--messages", options->messages, "The conversation as JSON, in OpenAI's form; -: standard input")->type_name("FILE");
  command->add_option("--tools", options->tools, "The tools as JSON, in OpenAI's form")->type_name("FILE");
  command->add_option("--options", options->options, "A JSON object of further variables, such as {\"enable_thinking\": false}")
      ->type_name("FILE");
  command
      ->add_option("--chat-template", options->chat_template,
                   std::string("Instead of the model's: a file, or one of ") + skipstone_chat_templates())
      ->envname("SKIPSTONE_CHAT_TEMPLATE")
      ->type_name("FILE|NAME");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt, "Leave out what begins the answer");
  command->add_flag("--continue-final-message", options->continues, "End where the content of the last message ends");
  command->add_option("--now", options->now, "What templates take for the time, such as 2025-07-04T09:08:07")->type_name("TIME");
  environment::set_exclusive({model, command->add_option("--jinja", options->jinja, "Render this template alone")->type_name("FILE")});
  command->add_option("--variables", options->variables, "For --jinja: a JSON object, all that the template sees")->type_name("FILE");
  command->add_flag("--json", options->json, "JSON: text, tokens, and pieces with their origins");
  command->add_option("--color", options->colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->footer(std::string("Special tokens stand in \u27E6...\u27E7.\n\nExamples:\n"
                              "  skipstone template -m model.gguf --messages messages.json --tools tools.json\n"
                              "  skipstone template --jinja template.jinja --variables variables.json\n\n") +
                  exit_code_help);
  command->callback([options, &code] {
    run_template(*options);
    code = ExitCode::ok;
  });
}

}  // namespace cli
