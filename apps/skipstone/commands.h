// One function per subcommand: adds it with its options to `app`; its callback stores the exit code in `code`.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "terminal/exit_code.h"

namespace cli {

void add_run(CLI::App& app, ExitCode& code);
void add_chat(CLI::App& app, ExitCode& code);
void add_serve(CLI::App& app, ExitCode& code);
void add_pull(CLI::App& app, ExitCode& code);
void add_devices(CLI::App& app, ExitCode& code);
void add_inspect(CLI::App& app, ExitCode& code);
void add_doctor(CLI::App& app, ExitCode& code);
void add_convert(CLI::App& app, ExitCode& code);
void add_quantize(CLI::App& app, ExitCode& code);
void add_imatrix(CLI::App& app, ExitCode& code);
void add_bench(CLI::App& app, ExitCode& code);
void add_template(CLI::App& app, ExitCode& code);
void add_grammar(CLI::App& app, ExitCode& code);
void add_tune(CLI::App& app, ExitCode& code);
void add_tune_device(CLI::App& app, ExitCode& code);
void add_report(CLI::App& app, ExitCode& code);
void add_compare(CLI::App& app, ExitCode& code);
void add_help(CLI::App& app, ExitCode& code);

/// Prints the output of `devices`, also for --list-devices.
void print_devices(const char* wanted, bool json);

/// All commands and options of `app` as JSON, the output of --describe.
std::string describe(const CLI::App& app);

}  // namespace cli
