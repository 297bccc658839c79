// skipstone doctor: checks that a device computes correctly.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "json/json.h"
#include "skipstone/skipstone.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

struct DoctorOptions {
  std::string device;
  CLI::Option* device_option = nullptr;
  bool full = false, json = false;
};

std::string kernels_text(const Json& report) {
  std::string text = "Kernels against the scalar reference, rows 1 to 16 compared by bytes\n";
  for (const Json& kernel : report["kernels"]) {
    const auto cases = kernel["cases"].get<std::uint64_t>(), failures = kernel["failures"].get<std::uint64_t>();
    text += fmt::format("  {:<6} {:<32}{:>6} cases{}\n", failures == 0 ? "ok" : "FAILED", kernel["name"].get<std::string>(), cases,
                        failures == 0 ? "" : fmt::format(", {} failed", failures));
  }
  return text;
}

/// The text to paste into a bug report.
std::string verdict_text(const Json& report, bool full) {
  const Json& device = report["device"];
  const auto failures = report["failures"].get<std::uint64_t>();
  std::string text = "\n--- skipstone doctor ---\n";
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("{:<12}{}\n", name, value); };
  line("program", fmt::format("skipstone {} ({})", report["version"].get<std::string>(), report["commit"].get<std::string>()));
  line("device", fmt::format("{} ({}, {:04x}:{:04x})", device["name"].get<std::string>(), device["kind"].get<std::string>(),
                             device["vendor_id"].get<std::uint32_t>(), device["device_id"].get<std::uint32_t>()));
  const auto driver_info = device["driver_info"].get<std::string>();
  line("driver", fmt::format("{}{}{}, Vulkan {}", device["driver"].get<std::string>(), driver_info.empty() ? "" : " ", driver_info,
                             device["vulkan"].get<std::string>()));
  line("tier", fmt::format("{}, subgroup {} ({} to {})", device["tier"].get<std::string>(), device["subgroup"]["size"].get<std::uint32_t>(),
                           device["subgroup"]["min"].get<std::uint32_t>(), device["subgroup"]["max"].get<std::uint32_t>()));
  for (const Json& quirk : report["quirks"]) line("quirk", quirk.get<std::string>());
  line("copy", fmt::format("{:.1f} GB/s", report["copy_bytes_per_second"].get<double>() / 1e9));
  const auto kept = [&](const char* name) { return report["denormals"][name].get<bool>() ? "kept" : "flushed to zero"; };
  line("denormals", fmt::format("of floats {}, of halves {}", kept("floats_kept"), kept("halves_kept")));
  if (report["validation"].get<bool>()) line("validation", fmt::format("{} messages", report["validation_messages"].get<std::uint64_t>()));
  line("tests", fmt::format("{} {}, {} failed", report["cases"].get<std::uint64_t>(), full ? "(full)" : "(quick)", failures));
  line("verdict", report["passed"].get<bool>()
                      ? "PASSED: this device computes what it should"
                      : "FAILED: do not trust text from this device; please report this block and the lines above");
  return text + "------------------------\n";
}

ExitCode doctor(const DoctorOptions& options) {
  interrupt::install();
  skipstone_doctor_params params = skipstone::doctor_params();
  params.device = options.device_option->count() > 0 ? options.device.c_str() : nullptr;
  params.full = options.full ? 1 : 0;
  Output output(false);
  Progress progress;
  std::uint64_t cases = 0;
  std::string report;
  report = skipstone::doctor(params, [&](const skipstone_check& result) {
    ++cases;
    if (result.passed == 0 && !options.json) {
      progress.clear();
      output.write(fmt::format("FAILED {}\n       {}\n", result.name, result.detail));
    }
    progress.update(fmt::format("testing {} (case {})", result.kernel, cases), 0.0);
    return !interrupt::requested() && !output.closed();
  });
  progress.clear();
  const Json parsed = Json::parse(report);
  output.write(options.json ? report + "\n" : kernels_text(parsed) + verdict_text(parsed, options.full));
  return parsed["passed"].get<bool>() ? ExitCode::ok : ExitCode::failure;
}

}  // namespace

void add_doctor(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("doctor", "Test a device: every kernel, row by row, and its copy bandwidth");
  const auto options = std::make_shared<DoctorOptions>();
  options->device_option =
      command->add_option("--device", options->device, "A number from `skipstone devices` or a part of a name; default: the best")
          ->envname("SKIPSTONE_DEVICE")
          ->type_name("DEVICE");
  command->add_flag("--full", options->full, "Every shape, some minutes; else a few seconds")->envname("SKIPSTONE_FULL");
  command->add_flag("--json", options->json, "JSON instead of text")->envname("SKIPSTONE_JSON");
  command->footer(
      std::string("The block at the end is made to be pasted into a bug report.\n\nExample:\n  skipstone doctor --device 1\n\n") +
      "Exit code 1 also means that a test failed. " + exit_code_help);
  command->callback([options, &code] { code = doctor(*options); });
}

}  // namespace cli
