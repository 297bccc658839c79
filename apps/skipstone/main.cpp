// The command-line program. It uses only the library's public headers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/platform/console.h"
#include "base/platform/system.h"
#include "base/status.h"
#include "commands.h"
#include "help/formatter.h"
#include "help/mistakes.h"
#include "job/job.h"
#include "options/environment.h"
#include "skipstone/skipstone.hpp"
#include "terminal/output.h"

namespace {

using cli::ExitCode;

/// Arguments in CLI11's order, last first. llama-bench's -pg and llama.cpp's -ngl have more letters than CLI11 allows after one dash.
std::vector<std::string> for_parser(std::vector<std::string> arguments) {
  if (!arguments.empty()) arguments.erase(arguments.begin());
  if (!arguments.empty() && arguments.front() == "bench") std::ranges::replace(arguments, "-pg", "--pg");
  std::ranges::replace(arguments, "-ngl", "--n-gpu-layers");
  std::ranges::reverse(arguments);
  return arguments;
}

int parse_and_run(CLI::App& app, const std::vector<std::string>& arguments, bool& list_devices, ExitCode& code) {
  try {
    app.parse(for_parser(arguments));
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int result = app.exit(help, text, text);
    cli::Output(false).write(text.str());
    return result;
  } catch (const CLI::ParseError& error) {
    std::vector<std::string> in_order = for_parser(arguments);
    std::ranges::reverse(in_order);
    const cli::Mistake mistake = cli::explain_mistake(app, in_order, error.what());
    cli::print_error(mistake.sentence);
    cli::note("{}", mistake.usage);
    return static_cast<int>(ExitCode::usage);
  }
  if (list_devices) {
    cli::print_devices(nullptr, false);
  } else if (app.get_subcommands().empty()) {
    cli::note_lines(app.help());
    return static_cast<int>(ExitCode::usage);
  }
  return static_cast<int>(code);
}

void add_commands(CLI::App& app, bool& list_devices, ExitCode& code) {
  app.allow_windows_style_options(false);  // "/x" is a path, or a prompt, on all systems
  app.set_version_flag("--version", fmt::format("skipstone {} ({})", skipstone_version(), skipstone_commit()), "Print the version");
  app.add_flag("--list-devices", list_devices, "The same as the command devices");
  app.require_subcommand(0, 1);
  cli::add_run(app, code);
  cli::add_chat(app, code);
  cli::add_serve(app, code);
  cli::add_pull(app, code);
  cli::add_devices(app, code);
  cli::add_inspect(app, code);
  cli::add_doctor(app, code);
  cli::add_convert(app, code);
  cli::add_quantize(app, code);
  cli::add_imatrix(app, code);
  cli::add_bench(app, code);
  cli::add_template(app, code);
  cli::add_grammar(app, code);
  cli::add_tune(app, code);
  cli::add_tune_device(app, code);
  cli::add_report(app, code);
  cli::add_compare(app, code);
  cli::add_help(app, code);
}

int run_program(const std::vector<std::string>& arguments) {
  CLI::App app("Runs GGUF language models on Vulkan devices, drafting with the model's own layers.", "skipstone");
  app.formatter(std::make_shared<cli::HelpFormatter>(cli::help_width()));
  bool list_devices = false;
  ExitCode code = ExitCode::ok;
  add_commands(app, list_devices, code);
  const auto print_description = [&app] {
    cli::Output(false).write(cli::describe(app));
    throw CLI::Success();
  };
  app.add_flag_callback("--describe", print_description)->group("");  // for tools/help-files; in no help
  app.footer(std::string("Example:\n  skipstone run -p \"Once upon a time\" -n 64 --stats\n\n") + cli::exit_code_help);
  cli::environment::resolve(app, for_parser(arguments), [&](CLI::App& other) { add_commands(other, list_devices, code); });
  return parse_and_run(app, arguments, list_devices, code);
}

int run_and_explain(int argc, char** argv) {
  const cli::job::Membership member;
  try {
    const std::vector<std::string> arguments = skipstone::platform::arguments(argc, argv);
    if (cli::job::shares_layers(arguments)) {
      if (const auto served = cli::job::serve(arguments)) return static_cast<int>(*served);
    } else if (cli::job::shares_work(arguments)) {
      cli::job::share_work();
    }
    return run_program(arguments);
  } catch (const cli::Failure& failure) {
    cli::print_error(failure.what());
    return static_cast<int>(failure.code());
  } catch (const skipstone::Error& error) {  // in the program's own arguments
    cli::print_error(error.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const skipstone::error& error) {
    cli::print_error(error.what());
    return static_cast<int>(cli::exit_code(error.status(), false));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    cli::print_error(error.what());
    return static_cast<int>(ExitCode::failure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  skipstone::platform::prepare_streams();
  try {
    return run_and_explain(argc, argv);
  } catch (const std::exception&) {  // there may be no memory for a message either
    cli::write_error("error: the system has no memory left; close other programs or use a smaller context.\n");
    return static_cast<int>(ExitCode::out_of_memory);
  }
}
